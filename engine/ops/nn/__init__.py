"""Functions of learning: activations and losses."""
