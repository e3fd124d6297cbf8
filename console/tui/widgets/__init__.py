"""Textual widgets.

They paint a ``Forest`` or a record and post messages; they read no database.
"""
