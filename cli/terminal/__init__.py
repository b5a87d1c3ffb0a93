"""The terminal itself: colour and width, Ctrl-C, the pager, and the line that shows how far a loop is.

All of cli may import from here; nothing here knows of commands.
"""
