"""Proposal of an engine's folder for a table, made from the catalog."""
