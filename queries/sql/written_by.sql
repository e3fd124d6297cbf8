-- What may have written to tables that an action does not name: keys to those that it changes, else triggers and rules.
-- TRUNCATE counts as rows of the catalogs, and keeps a lock that names its table.
-- args: tables: the tables, changed: those that the action changes; each as [schema, name]
-- Indexes: pg_class_relname_nsp_index, pg_constraint_conrelid_contypid_conname_index, pg_trigger_tgrelid_tgname_index.
WITH args AS (SELECT :args::text::jsonb AS a),
changed AS MATERIALIZED (
  SELECT c.oid, c.relname
    FROM args, jsonb_array_elements(a -> 'changed') AS e
    JOIN pg_namespace n ON n.nspname = e ->> 0 JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = e ->> 1
),
tables AS MATERIALIZED (
  SELECT c.oid, e ->> 0 AS schema, e ->> 1 AS name
    FROM args, jsonb_array_elements(a -> 'tables') AS e
    LEFT JOIN pg_namespace n ON n.nspname = e ->> 0
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = e ->> 1
),
keys AS (
  SELECT t.schema, t.name, string_agg(format('foreign key %s', k.conname)
           || CASE k.confdeltype WHEN 'c' THEN ' ON DELETE CASCADE' WHEN 'n' THEN ' ON DELETE SET NULL'
                                 WHEN 'd' THEN ' ON DELETE SET DEFAULT' ELSE '' END
           || CASE k.confupdtype WHEN 'c' THEN ' ON UPDATE CASCADE' WHEN 'n' THEN ' ON UPDATE SET NULL'
                                 WHEN 'd' THEN ' ON UPDATE SET DEFAULT' ELSE '' END, ', ' ORDER BY k.conname) AS cause
    FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'f' AND k.conparentid = 0
   WHERE (k.confdeltype IN ('c', 'n', 'd') OR k.confupdtype IN ('c', 'n', 'd'))
     AND (k.confrelid IN (SELECT c.oid FROM changed c) OR k.confrelid IN (SELECT o.oid FROM tables o))
   GROUP BY t.schema, t.name
),
code AS (
  SELECT string_agg(x.text, ', ' ORDER BY x.text) AS cause
    FROM (SELECT format('trigger %s of %s', g.tgname, c.relname) AS text
            FROM changed c JOIN pg_trigger g ON g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D'
          UNION ALL
          SELECT format('rule %s of %s', w.rulename, c.relname)
            FROM changed c JOIN pg_rewrite w ON w.ev_class = c.oid) AS x
), emptied AS (
  SELECT string_agg(format('%s.%s', n.nspname, r.relname), ', ') || ' is emptied or altered, ' AS tables
    FROM pg_locks l JOIN pg_class r ON r.oid = l.relation JOIN pg_namespace n ON n.oid = r.relnamespace
   WHERE l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock' AND r.relkind IN ('r', 'p')
)
SELECT t.schema, t.name, CASE t.schema WHEN 'pg_catalog' THEN coalesce((SELECT e.tables FROM emptied e), '') ELSE '' END
       || coalesce(k.cause, 'perhaps by ' || c.cause, '') AS cause
  FROM tables t LEFT JOIN keys k ON k.schema = t.schema AND k.name = t.name CROSS JOIN code c
