"""State behind the screens. Imports no Textual."""
