-- Release this session's advisory locks: they survive ROLLBACK, and a trigger may have taken one.
SELECT pg_catalog.pg_advisory_unlock_all()
