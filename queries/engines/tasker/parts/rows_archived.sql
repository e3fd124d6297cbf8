-- :rows
-- needs: pgmq
-- The archived rows of the messages that were copied before the change, from archives that the role may read.
WITH gone AS MATERIALIZED (
  SELECT c ->> 0 AS id, c ->> 2 AS key, 'a_' || substr(c ->> 1, 8) AS archive
    FROM jsonb_array_elements(:copied) AS c
   WHERE c ->> 1 LIKE 'pgmq.q\_%'
),
archives AS MATERIALIZED (
  SELECT g.archive, array_agg(g.key::int8) AS ids
    FROM gone g
    JOIN pg_class c ON c.relname = g.archive AND c.relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'SELECT')
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'pgmq'
   GROUP BY g.archive
)
SELECT g.id, 'pgmq.' || g.archive AS "table", g.key, NULL AS place, m.word::jsonb AS row
  FROM archives a
 CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, a.archive, a.ids)) AS m
  JOIN gone g ON g.archive = a.archive AND g.key = m.word::jsonb ->> 'id'
