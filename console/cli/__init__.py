"""The commands that need no screen: the same words as the console, as text or JSON. Without textual and rich."""
