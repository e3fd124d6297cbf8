"""Parts of pages that the command line and the screen both show, as lines of spans."""
