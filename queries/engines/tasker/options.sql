-- Detect where the engine's messages are: without pgmq, not in this database.
SELECT 'queue' AS name, 'elsewhere' AS value, 'this database has no schema pgmq' AS why
