"""Errors while a statement runs, in the words of the language.

`name_errors` makes the errors of names without a value and of calls; `graph_fixes` replaces the fixes of the engine's
errors by text that can be typed, from their facts and the graph; `source_lines` names the lines concerned.
`cut_paths` makes the notes on where a gradient ends, `paper_products` the error of `u·v`, and `spread_losses` the
note on a loss of (n, 1) and (n). `rounded_numbers` says what a number becomes that a float64 cannot hold.
"""
