-- The requested messages `read` of readable queues. ts_stat reads them, because the table names are not known in advance:
-- it runs a query given as text, which the file continues. Each message is one word.
WITH wanted AS MATERIALIZED (
  SELECT q.queue_name::text AS queue, array_agg(DISTINCT substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest(:ids) AS i
    JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
queues AS (SELECT w.queue AS queue_name FROM wanted w),
\ir queue_tables.sql
read AS MATERIALIZED (
  SELECT w.queue, m.word::jsonb AS m
    FROM wanted w
    JOIN queue_tables t ON t.queue_name = w.queue AND t.unread IS NULL
   CROSS JOIN LATERAL ts_stat(format(
