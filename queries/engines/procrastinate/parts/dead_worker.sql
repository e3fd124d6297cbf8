-- Signs of life of the workers that took these jobs. The start of a job is not looked for among more than 100 events.
dead_worker AS (
  SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM e.started)::float8 AS since
    FROM :"schema".procrastinate_jobs j
    LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
   CROSS JOIN LATERAL (
     SELECT CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type = 'started') END AS started
       FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x
              WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id LIMIT 100) AS v
   ) AS e
   CROSS JOIN LATERAL (
     SELECT 'heartbeat',
            CASE WHEN w.last_heartbeat >= now() - :worker_silent THEN 'alive' ELSE 'dead' END,
            CASE WHEN w.id IS NULL THEN 'its worker is not registered: the engine has removed it, because it was silent'
                 ELSE 'worker ' || w.id || ' beat ' || date_trunc('second', now() - w.last_heartbeat) || ' ago' END
     UNION ALL
     SELECT 'run time', 'unknown', coalesce('started ' || date_trunc('second', now() - e.started) || ' ago', 'not recorded')
   ) AS v(witness, verdict, detail)
   WHERE j.id = ANY (:job_keys) AND j.status = 'doing'
)
