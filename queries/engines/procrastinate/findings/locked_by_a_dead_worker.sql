-- Running jobs whose worker is silent, or removed after it was: the engine removes silent workers when another one starts.
-- needs: doing
-- needs of ids: none
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on (lock,
-- priority DESC, id) of jobs to do.
WITH
\ir ../parts/doing.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM coalesce(w.last_heartbeat, e.started))::float8 AS since,
        jsonb_build_object('worker', CASE WHEN w.id IS NULL THEN 'Their worker was silent, and the engine has removed it'
                                          ELSE 'The worker ' || w.id || ' is silent since ' || date_trunc('second', w.last_heartbeat) END,
                           'started', coalesce(date_trunc('second', e.started)::text, '?'), 'waiting', n.text, 'holder', j.id::text) AS evidence
   FROM doing j
   LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
\ir ../parts/times.sql
\ir ../parts/waiting.sql
  WHERE w.id IS NULL OR w.last_heartbeat < now() - :worker_silent
  ORDER BY j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM doing) = 5000
