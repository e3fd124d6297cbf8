-- GRANT statements that roles need for one engine, in order, as text. None of them is run.
-- args: an object with
--   schema; tables: all of the engine; changes: tables and the privileges to change them; queues: other schemas, whose
--   tables are created and dropped at run time;
--   columns: columns of other tables that hold ids of its rows, as table.column or *.column, and their type;
--   sequences: those that operators' statements use in addition to those of column defaults;
--   called: functions that statements of all roles call; executed: functions that only operators' statements call;
--   viewers and operators: names of roles; without operators, the text of their statements is NULL
-- Actions that delete a row, and details of nodes, read the rows that refer to it. So viewers and operators may read every
-- foreign key to such a table, and the given columns.
-- Indexes: pg_class_relname_nsp_index, pg_depend_reference_index, pg_namespace_nspname_index.
WITH asked AS (
  SELECT :args ->> 'schema' AS schema,
         (SELECT string_agg(quote_ident(r), ', ') FROM jsonb_array_elements_text(:args -> 'operators') AS r) AS operators,
         (SELECT string_agg(quote_ident(r), ', ')
            FROM (SELECT jsonb_array_elements_text(:args -> 'viewers') AS r
                  UNION ALL SELECT jsonb_array_elements_text(:args -> 'operators')) AS every) AS everybody
),
schemas AS (
  SELECT n.nspname, :args -> 'queues' ? n.nspname AS queues, n.nspname <> a.schema AS beside
    FROM pg_namespace n CROSS JOIN asked a
   WHERE n.nspname = a.schema OR :args -> 'queues' ? n.nspname
      OR n.oid IN (SELECT y.typnamespace FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND NOT c.attisdropped
                     JOIN pg_type y ON y.oid = c.atttypid AND y.typtype IN ('d', 'e')
                    WHERE t.relnamespace = to_regnamespace(quote_ident(a.schema)) AND :args -> 'tables' ? t.relname)
),
changes AS (
  SELECT c.at, c.change ->> 'table' AS name, c.change ->> 'words' AS words,
         c.change ->> 'words' LIKE '%INSERT%' AS adds, c.change ->> 'words' LIKE '%DELETE%' AS deletes
    FROM jsonb_array_elements(:args -> 'changes') WITH ORDINALITY AS c(change, at)
),
changed AS MATERIALIZED (
  SELECT t.oid, c.adds FROM asked a JOIN pg_namespace tn ON tn.nspname = a.schema
    JOIN changes c ON c.words <> 'DELETE'
    JOIN pg_class t ON t.relnamespace = tn.oid AND t.relname = c.name
),
code AS MATERIALIZED (
  -- Expressions that a change evaluates with the role's privileges: defaults on INSERT; constraints, also of domains,
  -- and index expressions on every change. The function of a trigger needs no privilege.
  SELECT 'pg_attrdef'::regclass AS class, d.oid FROM changed t JOIN pg_attrdef d ON d.adrelid = t.oid WHERE t.adds
  UNION ALL
  SELECT 'pg_type'::regclass, y.oid FROM changed t JOIN pg_attribute a ON a.attrelid = t.oid JOIN pg_type y ON y.oid = a.atttypid
   WHERE t.adds AND y.typtype = 'd'
  UNION ALL
  SELECT 'pg_constraint'::regclass, k.oid FROM changed t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype IN ('c', 'x')
  UNION ALL
  SELECT 'pg_constraint'::regclass, k.oid FROM changed t JOIN pg_attribute a ON a.attrelid = t.oid JOIN pg_constraint k ON k.contypid = a.atttypid
  UNION ALL
  SELECT 'pg_class'::regclass, i.indexrelid FROM changed t JOIN pg_index i ON i.indrelid = t.oid
),
sequences AS (
  -- The sequence of an identity column needs no privilege.
  SELECT DISTINCT n.nspname, s.relname
    FROM code c
    JOIN pg_depend d ON d.classid = c.class AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
    JOIN pg_namespace n ON n.oid = s.relnamespace
   WHERE c.class = 'pg_attrdef'::regclass
  UNION
  SELECT n.nspname, s.relname
    FROM asked a
   CROSS JOIN jsonb_array_elements_text(:args -> 'sequences') AS k(name)
    JOIN pg_class s ON s.relkind = 'S' AND s.relname = regexp_replace(k.name, '^.*\.', '')
    JOIN pg_namespace n ON n.oid = s.relnamespace AND n.nspname = coalesce(nullif(regexp_replace(k.name, '\.?[^.]*$', ''), ''), a.schema)
),
functions AS (
  SELECT p.oid, bool_or(:args -> 'called' ? p.proname) AS for_all
    FROM asked a JOIN pg_namespace n ON n.nspname = a.schema JOIN pg_proc p ON p.pronamespace = n.oid
   WHERE :args -> 'called' ? p.proname OR :args -> 'executed' ? p.proname
   GROUP BY p.oid
  UNION
  SELECT d.refobjid, false
    FROM code c
    JOIN pg_depend d ON d.classid = c.class AND d.objid = c.oid AND d.refclassid = 'pg_proc'::regclass
    JOIN pg_proc p ON p.oid = d.refobjid AND p.pronamespace <> 'pg_catalog'::regnamespace
),
pointing AS (
  SELECT DISTINCT n.nspname, r.relname, p.attname
    FROM asked a JOIN pg_namespace tn ON tn.nspname = a.schema
    JOIN changes c ON c.deletes
    JOIN pg_class t ON t.relnamespace = tn.oid AND t.relname = c.name
    JOIN pg_constraint k ON k.contype = 'f' AND k.confrelid = t.oid
    JOIN pg_class r ON r.oid = k.conrelid
    JOIN pg_namespace n ON n.oid = r.relnamespace
    JOIN pg_attribute p ON p.attrelid = r.oid AND p.attnum = ANY (k.conkey)
   WHERE NOT (r.relnamespace = tn.oid AND :args -> 'tables' ? r.relname)
  UNION
  SELECT n.nspname, r.relname, p.attname
    FROM jsonb_array_elements(:args -> 'columns') AS k
    JOIN pg_attribute p ON p.attname = split_part(k ->> 'name', '.', 2) AND NOT p.attisdropped
    JOIN pg_type y ON y.oid = p.atttypid AND coalesce(nullif(y.typbasetype, 0), y.oid) = (k ->> 'type')::regtype
    JOIN pg_class r ON r.oid = p.attrelid AND r.relkind IN ('r', 'p') AND split_part(k ->> 'name', '.', 1) IN ('*', r.relname)
    JOIN pg_namespace n ON n.oid = r.relnamespace
   WHERE EXISTS (SELECT FROM changes c WHERE c.deletes)
),
makers AS (
  -- The owner of tables in a schema of queues also creates the tables of later queues.
  SELECT DISTINCT s.nspname, pg_get_userbyid(c.relowner) AS owner
    FROM schemas s JOIN pg_namespace n ON n.nspname = s.nspname JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
   WHERE s.queues
),
statements AS (
  SELECT 1 AS part, row_number() OVER (ORDER BY s.beside, s.nspname) AS at,
         format('GRANT USAGE ON SCHEMA %I TO ', s.nspname) || a.everybody AS statement
    FROM schemas s CROSS JOIN asked a
  UNION ALL
  SELECT 1, 1000 + row_number() OVER (ORDER BY p.nspname), format('GRANT USAGE ON SCHEMA %I TO ', p.nspname) || a.everybody
    FROM (SELECT DISTINCT nspname FROM pointing) AS p CROSS JOIN asked a
   WHERE NOT EXISTS (SELECT FROM schemas s WHERE s.nspname = p.nspname)
  UNION ALL
  SELECT 2, 1, format('GRANT SELECT ON %s TO ', string_agg(format('%I.%I', a.schema, t.name), ', ' ORDER BY t.at)) || a.everybody
    FROM jsonb_array_elements_text(:args -> 'tables') WITH ORDINALITY AS t(name, at) CROSS JOIN asked a
   GROUP BY a.everybody
  UNION ALL
  SELECT 3, row_number() OVER (ORDER BY s.nspname), format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO ', s.nspname) || a.everybody
    FROM schemas s CROSS JOIN asked a WHERE s.queues
  UNION ALL
  SELECT 4, c.at, format('GRANT %s ON %I.%I TO ', c.words, a.schema, c.name) || a.operators
    FROM changes c CROSS JOIN asked a
  UNION ALL
  SELECT 5, row_number() OVER (ORDER BY p.nspname, p.relname, p.attname), format('GRANT SELECT (%I) ON %I.%I TO ', p.attname, p.nspname, p.relname) || a.everybody
    FROM pointing p CROSS JOIN asked a
  UNION ALL
  SELECT 6, row_number() OVER (ORDER BY s.nspname, s.relname), format('GRANT USAGE ON SEQUENCE %I.%I TO ', s.nspname, s.relname) || a.operators
    FROM sequences s CROSS JOIN asked a
  UNION ALL
  SELECT 7, row_number() OVER (ORDER BY s.nspname), format('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO ', s.nspname) || a.operators
    FROM schemas s CROSS JOIN asked a WHERE s.queues
  UNION ALL
  SELECT 8, row_number() OVER (ORDER BY f.oid::regprocedure::text), format('GRANT EXECUTE ON FUNCTION %s TO ', f.oid::regprocedure) || CASE WHEN f.for_all THEN a.everybody ELSE a.operators END
    FROM (SELECT g.oid, bool_or(g.for_all) AS for_all FROM functions g GROUP BY g.oid) AS f CROSS JOIN asked a
  UNION ALL
  SELECT 9, row_number() OVER (ORDER BY s.nspname), format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %I TO ', s.nspname) || a.operators
    FROM schemas s CROSS JOIN asked a WHERE s.queues
  UNION ALL
  SELECT 10, row_number() OVER (ORDER BY m.nspname, m.owner, r.at), format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON TABLES TO ', m.owner, m.nspname, r.words) || r.roles
    FROM makers m CROSS JOIN asked a
   CROSS JOIN LATERAL (VALUES (1, 'SELECT', a.everybody), (2, 'INSERT, UPDATE, DELETE', a.operators)) AS r(at, words, roles)
)
SELECT t.statement FROM statements t WHERE t.statement IS NOT NULL ORDER BY t.part, t.at
