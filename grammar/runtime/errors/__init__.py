"""Errors while a statement runs: unknown names, and fixes for the errors of the graph."""
