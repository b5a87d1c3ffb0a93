"""Operations that work entry by entry: arithmetic, comparison, elementary, trigonometric and special functions.

They are on numbers first, with a function on floats, and on arrays by the same rules. Other rows import them to write
their own rules; everything else finds them in the tables of `engine.core.op`.
"""
