-- Return queued jobs by id, one row each. Unknown ids return no row.
-- kinds: job
-- $1 ids text[]: local ids, job:id
-- Index: queued_job_pkey.
-- The job kind is the value of "job" in the content, else of "tag", else the first key. The outer `absent` supplies a
-- column that older versions of the engine lack.
SELECT 'job:' || j.id AS id, 'group:' || j.holder || '|' || j.sort AS parent_id, NULL::text AS job_id, 'job' AS kind,
       j.sort || coalesce(' · ' || left(nullif(j.content -> 'notification' ->> 'notification', ''), 80), '')
              || CASE WHEN j.write_last_exec THEN ' · from cron' ELSE '' END AS title,
       NULL::text AS status,
       CASE j.holder WHEN 'none' THEN 'ready' WHEN 'inconsistent' THEN 'unknown' ELSE 'running' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       extract(epoch FROM j.creation_time)::float8 AS created_at, extract(epoch FROM j.lock_time)::float8 AS changed_at,
       NULL::float8 AS due_at, j.lock_instance::text AS owner, NULL::float8 AS heartbeat_at,
       NULL::int8 AS attempts, NULL::int8 AS max_attempts, NULL::text AS error,
       coalesce(j.lock_instance::text, '-') || '@' || coalesce(j.lock_time::text, '-') || ':' || j.row_version AS version,
       extract(epoch FROM now())::float8 AS now
  FROM (VALUES (NULL::bool)) AS absent(write_last_exec)
 CROSS JOIN LATERAL (
       SELECT q.id, q.content, q.creation_time, q.lock_instance, q.lock_time, q.xmin AS row_version, write_last_exec,
              CASE WHEN (q.lock_instance IS NULL) <> (q.lock_time IS NULL) THEN 'inconsistent'
                   ELSE coalesce(q.lock_instance::text, 'none') END AS holder,
              left(coalesce(CASE WHEN jsonb_typeof(q.content -> 'job') = 'string' THEN nullif(q.content ->> 'job', '') END,
                            CASE WHEN jsonb_typeof(q.content -> 'tag') = 'string' THEN nullif(q.content ->> 'tag', '') END,
                            CASE WHEN jsonb_typeof(q.content) = 'object'
                                 THEN (SELECT nullif(k, '') FROM jsonb_object_keys(q.content) AS k LIMIT 1) END,
                            '(unrecognised)'), 80) AS sort
         FROM :"schema".queued_job q
        WHERE q.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest($1::text[]) AS i WHERE i ~ '^job:\d{1,18}$'))) AS j
