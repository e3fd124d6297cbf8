-- Rows with ids that the table's sequence has yet to give, as after a restore. Each INSERT that gets one fails.
-- The sequence is read after the snapshot, so a row that the sequence gave its id is never found.
-- Indexes: queued_job_pkey, cron_last_exec_pkey: at most one row after the sequence's last value, and the last row.
sequences AS MATERIALIZED (
  SELECT t.name, s.oid, CASE WHEN has_sequence_privilege(s.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(s.oid) END AS last
    FROM (VALUES ('queued_job'), ('cron_last_exec')) AS t(name)
   CROSS JOIN LATERAL (SELECT pg_get_serial_sequence(format('%I.%I', :'schema', t.name), 'id')::regclass AS oid) AS s
   WHERE s.oid IS NOT NULL
),
nodes AS (
  SELECT 'job:' || q.id AS id, s.*, q.id AS used, (SELECT max(m.id) FROM :"schema".queued_job m) AS highest
    FROM sequences s
   CROSS JOIN LATERAL (SELECT q.id FROM :"schema".queued_job q WHERE q.id > s.last AND q.id <= s.last + :next_ids::int ORDER BY q.id LIMIT 1) AS q
   WHERE s.name = 'queued_job'
  UNION ALL
  SELECT 'cron:' || q.id, s.*, q.id, (SELECT max(m.id) FROM :"schema".cron_last_exec m)
    FROM sequences s
   CROSS JOIN LATERAL (SELECT q.id FROM :"schema".cron_last_exec q WHERE q.id > s.last AND q.id <= s.last + :next_ids::int ORDER BY q.id LIMIT 1) AS q
   WHERE s.name = 'cron_last_exec'
)
