"""What can be said about a script without running it."""
