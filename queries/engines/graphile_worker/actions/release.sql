-- Unlock jobs of lost workers and their queues, as the engine's force_unlock_workers does. That function leaves a job whose last
-- attempt was taken without an attempt, so it would never run; here, one attempt is given back. Workers lock the rows of a job
-- before that of its queue, too, when they end one.
-- Indexes: jobs_pkey1, job_queues_pkey1.

-- :refused
WITH
\ir ../parts/sessions.sql
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.locked_at IS NULL THEN 'no worker has locked it'
                    WHEN NOT
\ir ../parts/lost.sql
                      THEN 'it was locked ' || date_trunc('second', now() - j.locked_at) || ' ago, and its worker may still run it. ' || (SELECT s.text FROM sessions s) END AS why
          FROM :"schema"._private_jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
WITH
\ir ../parts/sessions.sql
SELECT 'job:' || j.id AS id, v.witness AS witness, v.verdict AS verdict, v.detail AS detail, extract(epoch FROM j.locked_at)::float8 AS since
  FROM :"schema"._private_jobs j
 CROSS JOIN sessions s
 CROSS JOIN LATERAL (
   SELECT 'sessions of workers', CASE WHEN j.locked_at < s.oldest THEN 'dead' ELSE 'unknown' END, s.text
   UNION ALL
   SELECT 'run time', 'unknown', 'locked ' || date_trunc('second', now() - j.locked_at) || ' ago'
 ) AS v(witness, verdict, detail)
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i)) AND j.locked_at IS NOT NULL

-- :rows
SELECT 'job:' || j.id AS id, '_private_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema"._private_jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))

-- :rows
SELECT 'job:' || j.id AS id, '_private_job_queues' AS "table", q.id::text AS key, q.ctid::text AS place, row_to_json(q) AS row
  FROM :"schema"._private_jobs j
  JOIN :"schema"._private_job_queues q ON q.id = j.job_queue_id
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))

-- :change
WITH
\ir ../parts/sessions.sql
,
held AS MATERIALIZED (
  SELECT j.id, j.job_queue_id, j.locked_by
    FROM :"schema"._private_jobs j
    JOIN unnest(:ids, :versions) AS seen(id, version) ON j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version
   WHERE
\ir ../parts/lost.sql
),
freed AS (
  UPDATE :"schema"._private_job_queues q SET locked_at = NULL, locked_by = NULL
    FROM held h
   WHERE q.id = h.job_queue_id AND q.locked_by = h.locked_by
)
UPDATE :"schema"._private_jobs j SET locked_at = NULL, locked_by = NULL, attempts = least(j.attempts, j.max_attempts - 1)
  FROM held h
 WHERE j.id = h.id
RETURNING 'job:' || j.id AS id
