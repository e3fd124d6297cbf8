-- Signs of life or death of the pools that locked the jobs.
-- :witnesses
WITH
\ir sessions.sql
SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM j.locked_at)::float8 AS since
  FROM :"schema"._private_jobs j
 CROSS JOIN sessions s
 CROSS JOIN LATERAL (
   SELECT 'sessions of workers', CASE WHEN j.locked_at < s.oldest THEN 'dead' ELSE 'unknown' END, s.text
   UNION ALL
   SELECT 'run time', 'unknown', 'locked ' || date_trunc('second', now() - j.locked_at) || ' ago'
 ) AS v(witness, verdict, detail)
 WHERE j.id = ANY (:job_keys) AND j.locked_at IS NOT NULL
