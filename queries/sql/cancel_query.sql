-- Cancel the running statements of sessions. The guard is in the statement: a pid is used again, its start is not.
-- `done` is false if the signal could not be sent. Must be the first statement of its transaction that reads
-- pg_stat_activity, which is read once per transaction.
-- ids: pids
-- versions: for each pid, the start of the session that the operator saw
WITH seen AS MATERIALIZED (
  SELECT a.pid
    FROM unnest(:ids, :versions) AS s(pid, started)
    JOIN pg_stat_activity a ON a.pid = s.pid::int AND extract(epoch FROM a.backend_start)::text = s.started
   WHERE a.pid <> pg_backend_pid() AND a.state = 'active'
)
SELECT 'backend:' || s.pid AS id, pg_cancel_backend(s.pid) AS done FROM seen s
