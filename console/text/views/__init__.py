"""Views: records as lines of spans, for the screen and the command line."""
