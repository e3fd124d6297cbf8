"""Textual widgets: they paint what a ``Forest`` or a record holds, and post messages; they never read a database."""
