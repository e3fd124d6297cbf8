-- Tables of `queues(queue_name)`. pgmq lower-cases table names but not queue names. A table that is missing, is not a
-- table or is not readable by the role says so in `unread`, so that the other queues are still read.
queue_tables AS MATERIALIZED (
  SELECT q.queue_name::text AS queue_name, c.relname,
         CASE WHEN c.oid IS NULL THEN 'the table pgmq.' || lower('q_' || q.queue_name) || ' is missing'
              WHEN c.relkind NOT IN ('r', 'p') THEN 'pgmq.' || c.relname || ' is not a table'
              WHEN NOT has_table_privilege(c.oid, 'SELECT') THEN 'no SELECT on pgmq.' || c.relname END AS unread
    FROM queues q
    LEFT JOIN (SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'pgmq') AS c
           ON c.relname = lower('q_' || q.queue_name)
)
