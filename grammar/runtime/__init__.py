"""From syntax tree to results: bytecode, its compiler, the virtual machine, and what it calls."""
