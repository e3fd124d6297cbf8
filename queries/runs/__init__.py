"""Runs: a change of many nodes in steps that are recorded, until it has ended."""
