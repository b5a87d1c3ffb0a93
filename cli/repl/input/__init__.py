"""Where statements come from: the prompt, a dumb terminal, a pipe; keys and pasted text."""
