"""Old name of :mod:`queries.safe_text`."""

from queries.safe_text import safe_text as visible  # noqa: F401
