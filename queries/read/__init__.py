"""Nodes, findings, dead letters and details."""
