"""The terminal: everything that prints, prompts, reads files or parses flags."""

__version__ = "0.1.0"
