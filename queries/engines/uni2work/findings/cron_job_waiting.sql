-- Find jobs that cron queued long ago. The period of a cron job is not stored, so only the age is known.
-- needs: write_last_exec
-- Indexes: the start of queued_job_pkey; unique_cron_last_exec, one lookup for all found rows.
WITH jobs AS MATERIALIZED (
  SELECT q.id, q.content, q.creation_time
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT :head::int) AS q
   WHERE q.write_last_exec
     AND q.creation_time < now() - :cron_queued
     AND (:ids IS NULL OR 'job:' || q.id = ANY (:ids))
   ORDER BY q.id
   LIMIT :limit
),
\ir ../parts/kinds.sql
(SELECT 'job:' || w.id AS id, extract(epoch FROM w.creation_time)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', w.creation_time)::text,
                           'last', coalesce(date_trunc('second', l."time")::text, 'never recorded'), 'kind', w.kind) AS evidence
   FROM kinds w
   LEFT JOIN (SELECT c.job, c."time" FROM :"schema".cron_last_exec c WHERE c.job = ANY (ARRAY(SELECT content FROM jobs))) AS l ON l.job = w.content
  ORDER BY w.creation_time, w.id)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
