-- Run failed jobs again, and jobs that have lost their execution. Their executions are counted from 0 again. A job
-- without a concurrency key becomes ready. One with a key becomes due now: the limit of a key is known to the
-- application only, so the dispatcher gives the job its slot or blocks it.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

-- :refused
WITH \ir ../parts/jobs.sql
SELECT 'job:' || j.id AS id,
       replace(replace(replace('it is ' || j.status, 'is no execution', 'has no execution'), 'is failed', 'has failed'), 'it is claimed', 'a process has claimed it') || ': only failed and lost jobs can be retried' AS why
  FROM jobs j
 WHERE j.finished_at IS NOT NULL OR coalesce(j.ready, j.claimed, j.blocked, j.scheduled) IS NOT NULL

-- :change
WITH \ir ../parts/jobs.sql
, seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority, j.concurrency_key FROM jobs j
   WHERE j.finished_at IS NULL AND coalesce(j.ready, j.claimed, j.blocked, j.scheduled) IS NULL
     AND ('job:' || j.id, j.version) IN (SELECT * FROM unnest(:ids, :versions))
),
revived AS (
  DELETE FROM :"schema".solid_queue_failed_executions f USING seen n WHERE f.job_id = n.id
),
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()) FROM seen n WHERE n.concurrency_key IS NULL
),
due AS (
  INSERT INTO :"schema".solid_queue_scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()), timezone('UTC', now()) FROM seen n WHERE n.concurrency_key IS NOT NULL
)
-- The arguments have both counts of executions at 0. The text of all other members stays as it is, also numbers, duplicate keys and
-- escapes: jsonb would spell it in another way. json_each refuses \u0000 and single surrogates, so each backslash is
-- replaced by a control character while it reads: JSON has none in a string.
UPDATE :"schema".solid_queue_jobs j
   SET arguments =
       CASE WHEN ltrim(j.arguments, E' \t\r\n') LIKE '{%' THEN
         (SELECT '{' || string_agg('"' || replace(replace(replace(m.key, chr(1), '\'), chr(2), '\"'), chr(3), '\\') || '":'
                                   || replace(replace(replace(m.value, chr(1), '\'), chr(2), '\"'), chr(3), '\\'), ',' ORDER BY m.n, m.key DESC) || '}'
            FROM (SELECT replace(replace(replace(replace(replace(replace(j.arguments, '\\', chr(3)), '\"', chr(2)), '\', chr(1)),
                                                 chr(1), '\u0001'), chr(2), '\u0002'), chr(3), '\u0003')::json AS text) AS a
           CROSS JOIN LATERAL (
             SELECT e.n, e.key, CASE e.key WHEN 'executions' THEN '0' WHEN 'exception_executions' THEN '{}'
                                           ELSE replace(replace(replace(e.value::text, '\u0001', chr(1)), '\u0002', chr(2)), '\u0003', chr(3)) END
               FROM json_each(a.text) WITH ORDINALITY AS e(key, value, n)
             UNION ALL
             SELECT NULL, z.key, z.value
               FROM (VALUES ('executions', '0'), ('exception_executions', '{}')) AS z(key, value)
              WHERE a.text -> z.key IS NULL) AS m(n, key, value))
         ELSE j.arguments END,
       updated_at = timezone('UTC', now())
  FROM seen n
 WHERE j.id = n.id
RETURNING 'job:' || j.id AS id
