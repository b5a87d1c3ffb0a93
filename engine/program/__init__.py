"""Programs: straight-line code read off a graph, the passes over it, its listing; and replay of a graph."""
