"""Loops that are compiled: staging of an iteration, and running the compiled iterations."""
