"""SQL of unstick: every statement, and the reading and writing with it.

Imports neither console nor textual nor rich.
"""
