"""Command line: one command per file, as text or JSON. Never imports Textual."""
