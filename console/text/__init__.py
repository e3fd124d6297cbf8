"""Values and records as text; used by the command line and the screen."""
