"""One screen a file.

A screen puts widgets together, hands them what the session knows, and turns keys into wishes.
"""
