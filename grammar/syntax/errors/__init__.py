"""Syntax errors: the table of messages, and the functions that recognise which one applies."""
