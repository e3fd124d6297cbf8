"""A change part by part: the loop, its state, runs in the audit log, redrives."""
