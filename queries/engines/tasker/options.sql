-- Where the engine's messages are: not in this database, as far as can be seen.
SELECT 'queue' AS name, 'elsewhere' AS value, 'there is no schema pgmq in this database' AS why
