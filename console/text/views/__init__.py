"""Parts of screens that command line and screen both show, as lines of spans."""
