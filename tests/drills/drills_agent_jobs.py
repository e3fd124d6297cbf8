"""Causes in this engine: none yet."""
