"""The commands that concern agrad itself: its settings, its manual, and completion in a shell."""
