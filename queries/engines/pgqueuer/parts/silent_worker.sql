-- Signs of life of the workers that picked these jobs: each job's own heartbeat, and those of its worker's other jobs.
silent_worker AS (
  SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM j.heartbeat)::float8 AS since
    FROM :"schema".:"pgqueuer" j
   CROSS JOIN LATERAL (SELECT now() - :heartbeat_timeout AS limit) AS t
   CROSS JOIN LATERAL (SELECT max(o.heartbeat) AS last
                         FROM (SELECT s.heartbeat FROM :"schema".:"pgqueuer" s
                                WHERE s.queue_manager_id = j.queue_manager_id AND s.status = 'picked' AND s.id <> j.id ORDER BY s.queue_manager_id LIMIT 1000) AS o) AS o
   CROSS JOIN LATERAL (
     SELECT 'heartbeat', CASE WHEN j.heartbeat < t.limit THEN 'dead' ELSE 'alive' END, 'last ' || date_trunc('second', now() - j.heartbeat) || ' ago'
     UNION ALL
     SELECT 'other jobs of the worker', CASE WHEN o.last >= t.limit THEN 'alive' ELSE 'unknown' END,
            coalesce('one beat ' || date_trunc('second', now() - o.last) || ' ago', 'it has no other')
   ) AS v(witness, verdict, detail)
   WHERE j.id = ANY (:job_keys) AND j.status = 'picked'
)
