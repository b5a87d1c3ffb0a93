"""What a user can set: options, environment variables and config.toml, in this order.

`settings.SETTINGS` lists every setting; `settings.find` gives its value, and where that comes from. `config_toml` reads
the file, and is loaded only if there is one. All of cli may import `settings`.
"""
