-- Tasks by a part of their kind, state or output: all tasks if the table is small, else the 2,000 available tasks that
-- were polled longest ago.
-- bytes: values that take more are not searched
-- query: part of a kind's name, or of stored bytes, in upper and lower case as stored
-- Index: task__available_polled_at__idx. States and outputs that take more than 64 kB are not searched; the last row
-- counts their tasks.
WITH seen AS (
  (SELECT t.task_id, t.kind, t.state, t.output, t.created_at FROM :"schema".task t WHERE 'task_scan' = ANY (:met_needs))
  UNION ALL
  (SELECT t.task_id, t.kind, t.state, t.output, t.created_at FROM :"schema".task t
    WHERE NOT 'task_scan' = ANY (:met_needs) AND t.status = 'Available' ORDER BY t.polled_at LIMIT 2000)
),
judged AS MATERIALIZED (
  SELECT s.task_id, s.created_at, pg_column_size(s.state) > :bytes OR pg_column_size(s.output) > :bytes AS large,
         CASE WHEN strpos(lower(s.kind), lower(:query)) > 0 THEN 'title'
              WHEN CASE WHEN pg_column_size(s.state) <= :bytes THEN position(convert_to(:query, 'UTF8') IN s.state) > 0 END
                OR CASE WHEN pg_column_size(s.output) <= :bytes THEN position(convert_to(:query, 'UTF8') IN s.output) > 0 END
              THEN 'payload' END AS matched
    FROM seen s
)
(SELECT 'task:' || f.task_id AS id, f.matched, NULL::text AS cursor
   FROM judged f
  WHERE f.matched IS NOT NULL AND :query <> ''
  ORDER BY f.matched DESC, f.created_at DESC, f.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, 'kinds, states and outputs of '
                   || CASE WHEN 'task_scan' = ANY (:met_needs) THEN 'all tasks'
                           ELSE 'the 2,000 available tasks polled longest ago only: the table is too large to search it whole' END
                   || (SELECT CASE count(*) WHEN 0 THEN '' ELSE ', without values of more than 64 kB in ' || count(*) || ' of them' END
                         FROM judged WHERE large AND matched IS NULL)
