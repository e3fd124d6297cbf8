-- Delete the rows of tasks without a running poll. A running poll would lose its work, because its last statement must
-- find the row. An existing parent first gets an EOF through the engine's function, or it would wait forever. The
-- parent is locked together with the task, in id order.
-- Indexes: tasks_pkey; for the witnesses idx_tasks_ready_at; one on parent_id; those of the tables that reference
-- tasks.

-- :lock
WITH wanted AS MATERIALIZED (
  SELECT substr(i, 6)::macaddr8 AS task_id FROM unnest(:ids) AS i
),
held AS MATERIALIZED (
  SELECT t.task_id, t.parent_id, t.xmin::text AS version,
         encode(sha256(convert_to(concat_ws('|', coalesce(t.inner_state::text, 'NULL'), coalesce(t.inbox::text, 'NULL'), coalesce(t.inbox_next::text, 'NULL')), 'UTF8')), 'hex') AS steady
    FROM :"schema".tasks t
   WHERE t.task_id = ANY (ARRAY(SELECT w.task_id FROM wanted w
                                UNION SELECT c.parent_id::macaddr8 FROM :"schema".tasks c WHERE c.task_id = ANY (ARRAY(SELECT task_id FROM wanted))))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'task:' || h.task_id AS id, h.version, h.steady
  FROM held h
 WHERE h.task_id = ANY (ARRAY(SELECT task_id FROM wanted))
   AND (h.parent_id IS NULL
        OR EXISTS (SELECT FROM held p WHERE p.task_id = h.parent_id)
        OR (SELECT p.task_id FROM :"schema".tasks p WHERE p.task_id = h.parent_id) IS NULL)
 ORDER BY h.task_id

-- :refused
SELECT 'task:' || t.task_id AS id, 'the heartbeat is younger than the timeout: a running poll would lose its work. Fence the task first, or wait' AS why,
       isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat >= now() - :heartbeat_timeout_of_kind

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN 'task_by_parent' = ANY (:met_needs) THEN 'the task has children, and their messages would be lost. Set childless to delete it'
            ELSE 'the task may have children: no index on parent_id. Set childless to delete it' END AS why
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
   AND NOT coalesce((:args ->> 'childless')::bool, false)
   AND CASE WHEN 'task_by_parent' = ANY (:met_needs)
            THEN t.task_id = ANY (ARRAY(SELECT c.parent_id::macaddr8 FROM :"schema".tasks c
                                         WHERE c.parent_id = ANY (:task_keys)
                                           AND c.task_id <> c.parent_id AND c.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
                                           AND NOT c.task_id = ANY (:task_keys)))
            ELSE true END

-- :refused
-- ts_stat runs a query that is given as text. Every foreign key is refused, including one that cannot be checked: a
-- cascade would delete rows that the dry run does not show.
WITH \ir ../parts/pointing.sql
SELECT DISTINCT ON (1) 'task:' || t.task_id AS id,
       CASE WHEN p.closed IS NOT NULL
            THEN p.oid::regclass || '.' || p.attname || ' may reference the task: ' || p.closed || CASE WHEN p.conname IS NULL THEN '. Set owned to delete it' ELSE '' END
            ELSE p.oid::regclass || '.' || p.attname || ' references the task'
                 || coalesce(' by the foreign key ' || p.conname || '. Delete that row first', ' without a foreign key: the owner would lose its task. Set owned to delete it') END AS why
  FROM :"schema".tasks t
  JOIN pointing p ON p.types IS NULL OR t.task_type::text = ANY (p.types)
 WHERE t.task_id = ANY (:task_keys)
   AND (p.conname IS NOT NULL OR NOT coalesce((:args ->> 'owned')::bool, false))
   AND CASE WHEN p.closed IS NOT NULL THEN true
            ELSE EXISTS (SELECT FROM ts_stat(format('SELECT array_to_tsvector(ARRAY[''hit'']) FROM %s WHERE %I = %L LIMIT 1', p.oid::regclass, p.attname, t.task_id))) END
 ORDER BY 1, p.conname IS NULL, p.closed IS NOT NULL

-- :witnesses
WITH \ir ../parts/witnesses.sql
SELECT w.id, w.witness, w.verdict, w.detail, w.since FROM witnesses w

-- :change
SELECT count(*) AS notified
  FROM (SELECT c.task_id, p.task_id AS parent
          FROM :"schema".tasks c JOIN :"schema".tasks p ON p.task_id = c.parent_id, unnest(:ids, :versions) AS seen(id, version)
         WHERE c.task_id = substr(seen.id, 6)::macaddr8
           AND c.xmin::text = seen.version
           AND NOT p.task_id = ANY (:task_keys)
         ORDER BY c.task_id) AS ended
 CROSS JOIN LATERAL :"schema".send_to_task(ended.parent, ended.task_id, NULL)

-- :change
DELETE FROM :"schema".tasks t
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - :heartbeat_timeout_of_kind)
RETURNING 'task:' || t.task_id AS id
