"""The dump of a graph: which nodes, a row of data for each, and the forms that it is written in."""
