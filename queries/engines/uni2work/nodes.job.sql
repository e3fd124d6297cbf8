-- Return queued jobs by id, one row each.
-- Index: queued_job_pkey.
-- `absent` supplies a column that older versions of the engine lack.
WITH jobs AS (
  SELECT q.*
    FROM (VALUES (NULL::bool)) AS absent(write_last_exec)
   CROSS JOIN LATERAL (
         SELECT q.id, q.content, q.creation_time, q.lock_instance, q.lock_time, q.xmin AS row_version, write_last_exec,
                CASE WHEN (q.lock_instance IS NULL) <> (q.lock_time IS NULL) THEN 'inconsistent'
                     ELSE coalesce(q.lock_instance::text, 'none') END AS holder
           FROM :"schema".queued_job q
          WHERE q.id = ANY (:job_keys)) AS q
),
\ir parts/kinds.sql
SELECT 'job:' || j.id AS id, 'group:' || j.holder || '|' || j.kind AS parent_id, 'job' AS kind,
       j.kind || coalesce(' - ' || left(nullif(j.content -> 'notification' ->> 'notification', ''), 80), '')
              || CASE WHEN j.write_last_exec THEN ' - from cron' ELSE '' END AS title,
       CASE j.holder WHEN 'none' THEN 'ready' WHEN 'inconsistent' THEN 'unknown' ELSE 'running' END AS phase,
       extract(epoch FROM j.creation_time)::float8 AS created_at, extract(epoch FROM j.lock_time)::float8 AS changed_at,
       j.lock_instance::text AS owner,
       coalesce(j.lock_instance::text, '-') || '@' || coalesce(j.lock_time::text, '-') || ':' || j.row_version AS version,
       extract(epoch FROM now())::float8 AS now
  FROM kinds j
