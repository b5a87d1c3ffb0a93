"""The language: text in, operations of the engine and results out; it never prints."""
