"""The `plot` command: how it is read, how curves are sampled, and plots as files."""
