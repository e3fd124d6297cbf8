"""Everything that speaks SQL. Imports neither console nor textual nor rich."""
