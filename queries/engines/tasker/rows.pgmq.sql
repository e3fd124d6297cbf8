-- The rows of tasks, steps, dead letters and messages, with the transaction or MultiXact that locked each row last.
-- ts_stat reads queue tables, whose names are not known in advance: it runs a query given as text.
-- needs: pgmq
-- $1 ids text[]: local ids
-- Indexes: the primary keys, idx_workflow_steps_task_covering and those on the current transitions.
\ir parts/node_rows.sql
UNION ALL
SELECT m.id, m.relation, m.place, m.locker FROM (
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
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'relation', tableoid, 'place', ctid, 'locker', xmax::text)::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
SELECT 'message:' || r.queue || '/' || (r.m ->> 'id') AS id, (r.m ->> 'relation')::oid AS relation, r.m ->> 'place' AS place,
       (r.m ->> 'locker')::xid AS locker
  FROM read r
) AS m
