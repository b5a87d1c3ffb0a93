"""The terminal itself: what it can show, Ctrl-C, the pager, the progress line."""
