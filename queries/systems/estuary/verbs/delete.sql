-- The row of a task that nobody polls goes. A poll under way would lose everything it has done: its last statement must
-- find the row. A parent that exists is sent an EOF first, in the engine's own way, or it would wait for ever; it is
-- locked along with the task, in the order of ids.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- $3 args jsonb: owned: also where a row without foreign key points at it; childless: also where it has children
-- $4 limits jsonb: heartbeat_timeout by type
-- $5 have text[]
-- Indexes: tasks_pkey; one on parent_id; those of the tables that point at tasks.

-- :lock
WITH wanted AS MATERIALIZED (
  SELECT substr(i, 6)::macaddr8 AS task_id FROM unnest($1::text[]) AS i
),
held AS MATERIALIZED (
  SELECT t.task_id, t.parent_id, t.xmin::text AS version
    FROM :"schema".tasks t
   WHERE t.task_id = ANY (ARRAY(SELECT w.task_id FROM wanted w
                                UNION SELECT c.parent_id::macaddr8 FROM :"schema".tasks c WHERE c.task_id = ANY (ARRAY(SELECT task_id FROM wanted))))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'task:' || h.task_id AS id, h.version
  FROM held h
 WHERE h.task_id = ANY (ARRAY(SELECT task_id FROM wanted))
   AND (h.parent_id IS NULL
        OR EXISTS (SELECT FROM held p WHERE p.task_id = h.parent_id)
        OR (SELECT p.task_id FROM :"schema".tasks p WHERE p.task_id = h.parent_id) IS NULL)
 ORDER BY h.task_id

-- :refused
SELECT 'task:' || t.task_id AS id, 'its heartbeat is younger than the timeout: a poll under way would lose all that it did. Fence it first, or wait' AS why
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat >= now() - make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8)

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN 'task_by_parent' = ANY ($5::text[]) THEN 'it has children, and what they send would go nowhere. Say so (childless) to delete it all the same'
            ELSE 'whether it has children is not known here, for lack of an index. Say so (childless) to delete it all the same' END AS why
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND NOT coalesce(($3::jsonb ->> 'childless')::bool, false)
   AND CASE WHEN 'task_by_parent' = ANY ($5::text[])
            THEN t.task_id = ANY (ARRAY(SELECT c.parent_id::macaddr8 FROM :"schema".tasks c
                                         WHERE c.parent_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
                                           AND c.task_id <> c.parent_id AND c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
                                           AND NOT c.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))))
            ELSE true END

-- :refused
-- By foreign keys as the catalog has them, and by columns that are known to keep a task's id. ts_stat is what runs a
-- query by its text. A cascade would take rows along that nobody was shown, so every foreign key counts.
WITH pointing AS MATERIALIZED (
  SELECT c.conrelid AS oid, a.attnum, a.attname, c.conname
    FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
   WHERE c.contype = 'f' AND c.confrelid = format('%I.tasks', :'schema')::regclass AND cardinality(c.conkey) = 1
  UNION ALL
  SELECT r.oid, a.attnum, a.attname, NULL
    FROM pg_attribute a JOIN pg_class r ON r.oid = a.attrelid JOIN pg_type y ON y.oid = a.atttypid
   WHERE a.attname IN ('controller_task_id', 'notification_task_id') AND r.relkind IN ('r', 'p') AND NOT a.attisdropped
     AND coalesce(nullif(y.typbasetype, 0), y.oid) = 'macaddr8'::regtype AND r.oid <> format('%I.tasks', :'schema')::regclass
     AND NOT coalesce(($3::jsonb ->> 'owned')::bool, false)
     AND has_schema_privilege(r.relnamespace, 'USAGE') AND has_column_privilege(r.oid, a.attnum, 'SELECT')
     AND (pg_relation_size(r.oid) <= 16777216
          OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = r.oid AND i.indisvalid AND i.indkey[0] = a.attnum))
)
SELECT DISTINCT ON (1) i.id,
       p.oid::regclass || '.' || p.attname || ' points at it'
       || coalesce(', by the foreign key ' || p.conname || ': that row must go first', ', without a foreign key: its owner would be left without a task. Say so (owned) to delete it all the same') AS why
  FROM unnest($1::text[]) AS i(id)
 CROSS JOIN pointing p
 WHERE EXISTS (SELECT FROM ts_stat(format('SELECT array_to_tsvector(ARRAY[''hit'']) FROM %s WHERE %I = %L LIMIT 1', p.oid::regclass, p.attname, substr(i.id, 6))))
 ORDER BY 1, p.conname IS NULL

-- :rows
\ir ../parts/task_rows.sql
UNION ALL
SELECT 'task:' || c.task_id, 'tasks', p.task_id::text,
       json_build_object('task_id', p.task_id::text, 'task_type', p.task_type, 'wake_at', p.wake_at::text, 'heartbeat', p.heartbeat::text,
                         'inbox', p.inbox::text[], 'inbox_next', p.inbox_next::text[])
  FROM :"schema".tasks c JOIN :"schema".tasks p ON p.task_id = c.parent_id AND p.task_id <> c.task_id
 WHERE c.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND NOT p.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))

-- :change
SELECT count(*) AS told
  FROM (SELECT c.task_id, p.task_id AS parent
          FROM :"schema".tasks c JOIN :"schema".tasks p ON p.task_id = c.parent_id, unnest($1::text[], $2::text[]) AS seen(id, version)
         WHERE c.task_id = substr(seen.id, 6)::macaddr8
           AND c.xmin::text = seen.version
           AND NOT p.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
         ORDER BY c.task_id) AS ended
 CROSS JOIN LATERAL :"schema".send_to_task(ended.parent, ended.task_id, NULL)

-- :change
DELETE FROM :"schema".tasks t
 USING unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8))
RETURNING 'task:' || t.task_id AS id
