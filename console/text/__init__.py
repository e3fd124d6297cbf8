"""Values and records as text or styled spans, for the command line and the screen."""
