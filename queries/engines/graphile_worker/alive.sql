-- Worker pools: those that hold a job, each with its newest lock and the tasks of its jobs, and the sessions of pools. A pool
-- without a job leaves no other sign. A pool has ended if each session began after its newest lock.
-- met_needs: without an index on locked jobs, only sessions are known
-- Indexes: one on (locked_at) of locked jobs, 1,000 of them, the newest first; tasks_pkey.
WITH \ir parts/sessions.sql
SELECT o.locked_by AS worker, extract(epoch FROM max(o.locked_at))::float8 AS seen, CASE WHEN max(o.locked_at) >= now() - :worker_lost THEN true WHEN max(o.locked_at) < s.oldest THEN false END AS alive,
       jsonb_agg(DISTINCT o.identifier) AS serves, false AS only
  FROM (SELECT j.locked_by, j.locked_at, (SELECT k.identifier FROM :"schema"._private_tasks k WHERE k.id = j.task_id) AS identifier FROM :"schema"._private_jobs j
         WHERE 'locked' = ANY (:met_needs) AND j.locked_at IS NOT NULL AND j.locked_by IS NOT NULL ORDER BY j.locked_at DESC LIMIT 1000) AS o
 CROSS JOIN sessions s
 GROUP BY o.locked_by, s.oldest
UNION ALL
SELECT s.text, NULL, NULL, '[]', false FROM sessions s WHERE s.oldest < 'infinity'
