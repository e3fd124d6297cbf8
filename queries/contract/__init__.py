"""What an engine folder may contain, and which engines a database holds."""
