"""Text that comes from outside or goes there."""
