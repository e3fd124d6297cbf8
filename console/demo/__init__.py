"""The demo: a server of its own, data, and engines at work on it. Only here does the console use the driver."""
