"""What a user may set, and where it is set: options, the environment, config.toml."""
