-- held: the jobs that were seen, whose worker is lost, if they have one. Their queues are unlocked.
-- Workers lock the rows of a job before that of its queue, too, when they end one.
WITH
\ir sessions.sql
,
held AS MATERIALIZED (
  SELECT j.id, j.job_queue_id, j.locked_by
    FROM :"schema"._private_jobs j
    JOIN unnest(:ids, :versions) AS seen(id, version) ON j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
   WHERE j.locked_at IS NULL OR
\ir lost.sql
),
freed AS (
  UPDATE :"schema"._private_job_queues q SET locked_at = NULL, locked_by = NULL
    FROM held h
   WHERE q.id = h.job_queue_id AND q.locked_by = h.locked_by
)
