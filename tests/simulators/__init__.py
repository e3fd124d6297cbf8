"""Executors that play an engine's protocol, and rows of each way to be stuck."""
