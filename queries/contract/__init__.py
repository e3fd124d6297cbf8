"""The contract of an engine folder, and detection of engines in a database."""
