"""The settings: `definitions` lists them, `settings.find` gives the value of one, `config_toml` reads the file.

A value comes from an option, the environment, config.toml or the default, in this order.
"""
