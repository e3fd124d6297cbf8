"""Records as lines of styled text. Pure: what a page says and how it reads, without a screen."""
