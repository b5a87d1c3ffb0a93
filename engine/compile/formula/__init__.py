"""Formulas: what a program computes, as one would write it on paper.

`terms` is the algebra: sums of products, in which like terms are collected; `reader` makes a term of each result of a
program; `spelling` writes terms in the language, so that they can be read again, and in LaTeX.
"""
