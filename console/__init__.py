"""User interface of unstick: the terminal application and the command line.

Contains no SQL: everything it knows of a database comes from ``queries``.
"""
