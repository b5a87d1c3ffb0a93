"""Gradients and values that are inf or nan: where that began, and what to write instead."""
