"""`agrad repl`: the prompt and what surrounds it."""
