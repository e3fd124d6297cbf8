"""Pure functions that render records as lines of styled text."""
