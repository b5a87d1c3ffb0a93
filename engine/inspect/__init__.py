"""What there is to see of a graph: the chain rule in numbers, paths, a backward walk, memory, and dumps."""
