"""Textual widgets.

They paint a ``FlatList`` or a record and post messages; they read no database.
"""
