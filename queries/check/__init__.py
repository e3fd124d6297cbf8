"""Proof of an engine's folder on a server: what `unstick engine check` runs."""
