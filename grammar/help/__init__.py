"""Help, completion, and the documents made from the same tables."""
