"""Dry runs, commits and bulks of actions."""
