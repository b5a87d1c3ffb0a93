"""Functions of learning: activations and losses.

They build on `scalar` and `arrays`. Nothing imports from here: the operations are found in the tables of
`engine.core.op`.
"""
