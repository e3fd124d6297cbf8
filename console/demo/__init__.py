"""Demo: an embedded server, data, and a simulated executor for each engine."""
