-- Signs of life of the worker that took a job.
SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM e.started)::float8 AS since
  FROM :"schema".procrastinate_jobs j
  LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
\ir times.sql
 CROSS JOIN LATERAL (
   SELECT 'heartbeat',
          CASE WHEN w.id IS NULL THEN 'dead' WHEN w.last_heartbeat >= now() - :worker_silent THEN 'alive'
               ELSE 'dead' END,
          CASE WHEN w.id IS NULL THEN 'its worker is not registered: the engine has removed it, because it was silent'
               ELSE 'worker ' || w.id || ' beat ' || date_trunc('second', now() - w.last_heartbeat) || ' ago' END
   UNION ALL
   SELECT 'run time', 'unknown', coalesce('started ' || date_trunc('second', now() - e.started) || ' ago', 'not recorded')
 ) AS v(witness, verdict, detail)
 WHERE j.id = ANY (:job_keys) AND j.status = 'doing'
