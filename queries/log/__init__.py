"""One transaction that changes rows, and what became of it."""
