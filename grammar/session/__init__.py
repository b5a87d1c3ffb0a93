"""A session: running statements, the log of those that stand, undo, saving and loading."""
