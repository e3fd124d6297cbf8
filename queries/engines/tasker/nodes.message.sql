-- Return messages in the engine's queues. Their key is the queue's name and the message's number. The table names are not
-- known in advance, so ts_stat reads them: it runs a query given as text. Each message is one word.
-- kinds: message
-- needs: pgmq
-- $1 ids text[]: local ids
-- Each read updates the message's row, so compute the version from the columns that never change.
-- Index: the primary keys of pgmq's tables.
WITH wanted AS MATERIALIZED (
  SELECT q.queue_name::text AS queue, array_agg(DISTINCT substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest($1::text[]) AS i
    JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
queues AS (SELECT w.queue AS queue_name FROM wanted w),
\ir parts/queue_tables.sql
read AS MATERIALIZED (
  SELECT w.queue, m.word::jsonb AS m
    FROM wanted w
    JOIN queue_tables t ON t.queue_name = w.queue AND t.unread IS NULL
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'read', read_ct, 'at', extract(epoch FROM enqueued_at),
          'vt', extract(epoch FROM vt), 'due', vt > now(), 'step', left(message ->> 'step_uuid', 64), 'task', left(message ->> 'task_uuid', 64),
          'version', md5(enqueued_at::text || message::text))::text]) FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
SELECT 'message:' || r.queue || '/' || (r.m ->> 'id') AS id, NULL::text AS parent_id, 'task:' || (r.m ->> 'task') AS job_id,
       'message' AS kind, r.queue || ' #' || (r.m ->> 'id') AS title,
       CASE WHEN (r.m ->> 'due')::bool THEN 'taken' ELSE 'waiting' END AS status,
       CASE WHEN (r.m ->> 'due')::bool THEN 'running' ELSE 'ready' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll, (r.m ->> 'at')::float8 AS created_at,
       NULL::float8 AS changed_at, (r.m ->> 'vt')::float8 AS due_at, NULL::text AS owner, NULL::float8 AS heartbeat_at,
       (r.m ->> 'read')::int8 AS attempts, NULL::int8 AS max_attempts, NULL::text AS error,
       r.m ->> 'version' AS version, extract(epoch FROM now())::float8 AS now
  FROM read r
