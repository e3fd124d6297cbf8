"""Connections. Only this room imports asyncpg."""
