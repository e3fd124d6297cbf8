"""Files: settings in TOML, statements, and those in the user's folders."""
