"""Results as text, JSON, CSV, LaTeX, and as plots of characters.

`text` prints results, errors and notes for people; `structured` prints them for programs; `printers` chooses between
the two; `plot_canvas` draws curves. All of cli may import from here; `structured` and `plot_canvas` are imported when
they are needed.
"""
