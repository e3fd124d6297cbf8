"""Connections. The only room that imports asyncpg."""
