-- Tasks by name or number of their type, or by a part of their state or messages: all tasks if the table is small, else
-- the first 5,000 due tasks.
-- bytes: values that take more are not searched
-- query: part of a type's name, "type 2", or part of a state or message
-- Index: idx_tasks_ready_at. States and inboxes that take more than 64 kB are not searched; the last row counts their
-- tasks.
WITH types AS MATERIALIZED (
  SELECT n.key AS task_type FROM jsonb_each_text(:settings -> 'names') AS n
   WHERE strpos(lower(n.value), lower(trim(:query))) > 0 AND trim(:query) <> ''
  UNION
  SELECT substring(lower(trim(:query)) FROM '^type (\d+)$')
),
seen AS (
  (SELECT t.task_id, t.task_type, t.inner_state, t.inbox, t.inbox_next FROM :"schema".tasks t WHERE 'task_scan' = ANY (:met_needs))
  UNION ALL
  (SELECT t.task_id, t.task_type, t.inner_state, t.inbox, t.inbox_next FROM :"schema".tasks t
    WHERE NOT 'task_scan' = ANY (:met_needs) AND t.wake_at <= now() ORDER BY t.wake_at LIMIT 5000)
),
judged AS MATERIALIZED (
  SELECT s.task_id, greatest(pg_column_size(s.inner_state), pg_column_size(s.inbox), pg_column_size(s.inbox_next)) > :bytes AS large,
         CASE WHEN s.task_type::text = ANY (ARRAY(SELECT task_type FROM types)) THEN 'title'
              WHEN CASE WHEN pg_column_size(s.inner_state) <= :bytes THEN strpos(lower(s.inner_state::text), lower(:query)) > 0 END
                OR CASE WHEN pg_column_size(s.inbox) <= :bytes THEN strpos(lower(s.inbox::text), lower(:query)) > 0 END
                OR CASE WHEN pg_column_size(s.inbox_next) <= :bytes THEN strpos(lower(s.inbox_next::text), lower(:query)) > 0 END
              THEN 'payload' END AS matched
    FROM seen s
)
(SELECT 'task:' || f.task_id AS id, f.matched, NULL::text AS cursor
   FROM judged f
  WHERE f.matched IS NOT NULL AND trim(:query) <> ''
  ORDER BY f.matched DESC, f.task_id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, 'types, states and messages of '
                   || CASE WHEN 'task_scan' = ANY (:met_needs) THEN 'all tasks'
                           ELSE 'the 5,000 tasks due longest only: the table is too large to search it whole' END
                   || (SELECT CASE count(*) WHEN 0 THEN '' ELSE ', without values of more than 64 kB in ' || count(*) || ' of them' END
                         FROM judged WHERE large AND matched IS NULL)
