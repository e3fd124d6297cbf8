-- Signs of life or death of the pools that locked these jobs.
lost_owner AS (
  WITH \ir jobs.sql
  SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM j.locked_at)::float8 AS since
    FROM jobs j
   CROSS JOIN LATERAL (
     SELECT 'sessions of workers', CASE WHEN j.locked_at < j.oldest THEN 'dead' ELSE 'unknown' END, j.workers
     UNION ALL
     SELECT 'run time', 'unknown', 'locked ' || date_trunc('second', now() - j.locked_at) || ' ago'
   ) AS v(witness, verdict, detail)
   WHERE j.locked_at IS NOT NULL
)
