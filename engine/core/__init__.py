"""The graph and what is done to it: operations, nodes, handles, versions, guards, limits, and their errors."""
