"""Incidents that are set up on a real server and read as the console shows them.

A drill makes a database with a mostly healthy engine, adds one cause, and compares line 1 of the console with it.
A control adds something suspicious but healthy, which the console must not report.

    python -m tests.drills            # all drills, as a table
    python -m tests.drills locked     # the drills whose name contains a word
"""
