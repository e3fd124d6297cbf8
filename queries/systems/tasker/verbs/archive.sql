-- A message goes from its queue to the queue's archive: nobody is told of it any more. Messages are read and written by
-- pgmq's own functions, so one that is read at the same moment is archived all the same.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- Indexes: the primary keys of pgmq's tables.

-- :lock
WITH wanted AS MATERIALIZED (
  SELECT q.queue_name, array_agg(substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest($1::text[]) AS i JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
read AS MATERIALIZED (
  SELECT w.queue_name, m.word::jsonb AS m
    FROM wanted w
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'version', xmin::text, 'read', read_ct, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, 'q_' || w.queue_name, w.ids)) AS m
)
SELECT 'message:' || r.queue_name || '/' || (r.m ->> 'id') AS id, r.m ->> 'version' AS version FROM read r

-- :rows
WITH wanted AS MATERIALIZED (
  SELECT q.queue_name, array_agg(substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest($1::text[]) AS i JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
read AS MATERIALIZED (
  SELECT w.queue_name, m.word::jsonb AS m
    FROM wanted w
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'version', xmin::text, 'read', read_ct, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, 'q_' || w.queue_name, w.ids)) AS m
)
SELECT 'message:' || r.queue_name || '/' || (r.m ->> 'id') AS id, 'pgmq.q_' || r.queue_name AS "table", r.m ->> 'id' AS key, r.m AS row FROM read r

-- :change
WITH wanted AS MATERIALIZED (
  SELECT q.queue_name, array_agg(substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest($1::text[]) AS i JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
read AS MATERIALIZED (
  SELECT w.queue_name, m.word::jsonb AS m
    FROM wanted w
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'version', xmin::text, 'read', read_ct, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, 'q_' || w.queue_name, w.ids)) AS m
)
SELECT a.id
  FROM (SELECT v.id, pgmq.archive(r.queue_name::text, (r.m ->> 'id')::int8) AS done
          FROM unnest($1::text[], $2::text[]) AS v(id, version)
          JOIN read r ON v.id = 'message:' || r.queue_name || '/' || (r.m ->> 'id') AND r.m ->> 'version' = v.version
        OFFSET 0) AS a
 WHERE a.done
