"""Drills that may still fail, and what is missing.

Remove a line when its drill passes.
"""

TODO: dict[str, str] = {}
