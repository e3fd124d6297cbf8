"""Fields of the records of lists, each stated once. UI-free."""
