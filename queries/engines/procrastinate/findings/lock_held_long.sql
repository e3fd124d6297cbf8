-- Jobs that run for long, with a living worker, while due jobs wait for their lock. One that does not run longer than the
-- runs of its task before it is no problem: of the 1,000 jobs before it, at most 10 runs of 100 events each.
-- needs: doing, todo_by_lock
-- Indexes: procrastinate_jobs_lock_idx_v1, procrastinate_workers_pkey, procrastinate_events_job_id_fkey_v1, one on
-- (lock, priority DESC, id) of jobs to do.
WITH \ir ../parts/locks.sql
, \ir ../parts/doing.sql
, \ir ../parts/times.sql
, \ir ../parts/waiting.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.started)::float8 AS since,
        CASE WHEN j.started > now() - 1.2 * u.longest THEN 3 ELSE 6 END AS severity, (j.started > now() - 1.2 * u.longest) IS NOT TRUE AS suggest,
        jsonb_build_object('usual', coalesce('. Its task ran for at most ' || date_trunc('second', u.longest) || ' before', ''), 'started', date_trunc('second', j.started)::text, 'waiting', j.waiting, 'lock', j.lock, 'resource', 'job:' || j.id) AS evidence
   FROM (SELECT * FROM waiting j
          WHERE j.lock IS NOT NULL AND j.n > 0 AND j.started < now() - :lock_held_long
            AND (SELECT w.last_heartbeat FROM :"schema".procrastinate_workers w WHERE w.id = j.worker_id) >= now() - :worker_silent
          ORDER BY j.id
          LIMIT :limit) AS j
  CROSS JOIN LATERAL (
    SELECT max(e.took) AS longest
      FROM (SELECT p.id FROM (SELECT b.id, b.task_name, b.status FROM :"schema".procrastinate_jobs b WHERE b.id < j.id ORDER BY b.id DESC LIMIT 1000) AS p
             WHERE p.status = 'succeeded' AND p.task_name = (SELECT o.task_name FROM :"schema".procrastinate_jobs o WHERE o.id = j.id) ORDER BY p.id DESC LIMIT 10) AS r
     CROSS JOIN LATERAL (SELECT max(v.at) FILTER (WHERE v.type = 'succeeded' AND isfinite(v.at)) - max(v.at) FILTER (WHERE v.type = 'started' AND isfinite(v.at)) AS took
                           FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x WHERE x.job_id >= r.id AND x.job_id <= r.id ORDER BY x.job_id LIMIT 100) AS v) AS e) AS u
  ORDER BY j.id)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL WHERE (SELECT count(*) FROM asked) = 5000
