-- Code of untrusted roles that a statement on these relations would run, and functions and sequences that the current role
-- may not use. Trusted are the current role, superusers, the database's owner and the roles that the operator listed.
-- sort: schema, relation, type, function: `role` owns the object; create: `role` may create objects in the schema;
-- trigger: `role` may create triggers on the table; child: another table inherits from it, and is no partition;
-- path: a schema of the role's own search_path, `relation` is its place there; runs: the table has triggers or rules;
-- reads, writes: a function that a read runs, or only a write; insert, update: a privilege that is missing, without `role`.
-- query: relation names
-- args: functions: names of functions that are called; like: patterns of further relations; trusted: names of roles
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_depend_depender_index, pg_proc_proname_args_nsp_index.
WITH RECURSIVE
\ir parts/names.sql
trusted AS MATERIALIZED (
  SELECT r.oid FROM pg_roles r
   WHERE r.rolsuper OR r.rolname = current_user OR r.rolname = 'pg_database_owner'
      OR r.oid = (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())
      OR r.rolname = ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'trusted')))
),
named AS MATERIALIZED (
  SELECT c.oid, c.relname, c.relnamespace, c.relowner, n.nspname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relname = ANY (ARRAY(SELECT a.name FROM names a)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
),
members AS (
  -- Includes partitions, whose triggers also run.
  SELECT m.oid, m.nspname, m.relname FROM named m
  UNION
  SELECT i.inhrelid, m.nspname, m.relname FROM members m JOIN pg_inherits i ON i.inhparent = m.oid
),
path AS MATERIALIZED (
  SELECT n.oid, n.nspname, f.place
    FROM pg_settings s
   CROSS JOIN LATERAL regexp_matches(s.reset_val, '"((?:[^"]|"")*)"|([^,\s]+)', 'g') WITH ORDINALITY AS f(parts, place)
    JOIN pg_namespace n ON n.nspname = CASE WHEN f.parts IN (ARRAY['$user', NULL], ARRAY[NULL, '$user']) THEN session_user::text
                                            ELSE coalesce(replace(f.parts[1], '""', '"'), lower(f.parts[2])) END
   WHERE s.name = 'search_path' AND n.nspname NOT LIKE 'pg\_%'
),
schemas AS (
  SELECT n.oid, n.nspname, n.nspowner, n.nspacl FROM pg_namespace n
   WHERE n.oid IN (SELECT m.relnamespace FROM named m UNION ALL SELECT p.oid FROM path p)
),
types AS (
  SELECT m.nspname, m.relname, a.atttypid AS oid
    FROM named m JOIN pg_attribute a ON a.attrelid = m.oid AND a.attnum > 0 AND NOT a.attisdropped
  UNION
  SELECT t.nspname, t.relname, p.oid
    FROM types t
    JOIN pg_type y ON y.oid = t.oid
   CROSS JOIN LATERAL (SELECT nullif(y.typbasetype, 0) AS oid UNION ALL SELECT nullif(y.typelem, 0)
                        UNION ALL SELECT a.atttypid FROM pg_attribute a
                                   WHERE y.typtype = 'c' AND a.attrelid = y.typrelid AND a.attnum > 0 AND NOT a.attisdropped) AS p
   WHERE p.oid IS NOT NULL
),
made AS MATERIALIZED (
  SELECT t.nspname, t.relname, y.oid, y.typname, y.typowner
    FROM types t JOIN pg_type y ON y.oid = t.oid
   WHERE y.typnamespace <> 'pg_catalog'::regnamespace
),
code AS (
  -- Objects of a table or type that depend on functions. sort: a read runs them, or only a write.
  SELECT m.nspname, m.relname, 'reads' AS sort, 'pg_policy'::regclass AS class, p.oid
    FROM members m JOIN pg_policy p ON p.polrelid = m.oid
  UNION ALL
  SELECT t.nspname, t.relname, 'reads', 'pg_constraint'::regclass, k.oid FROM made t JOIN pg_constraint k ON k.contypid = t.oid
  UNION ALL
  SELECT t.nspname, t.relname, 'writes', 'pg_type'::regclass, t.oid FROM made t
  UNION ALL
  SELECT m.nspname, m.relname, 'writes', 'pg_trigger'::regclass, g.oid
    FROM members m JOIN pg_trigger g ON g.tgrelid = m.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D'
  UNION ALL
  SELECT m.nspname, m.relname, 'writes', 'pg_attrdef'::regclass, d.oid FROM members m JOIN pg_attrdef d ON d.adrelid = m.oid
  UNION ALL
  SELECT m.nspname, m.relname, 'writes', 'pg_constraint'::regclass, k.oid
    FROM members m JOIN pg_constraint k ON k.conrelid = m.oid AND k.contype IN ('c', 'x')
  UNION ALL
  SELECT m.nspname, m.relname, 'writes', 'pg_class'::regclass, i.indexrelid FROM members m JOIN pg_index i ON i.indrelid = m.oid
  UNION ALL
  SELECT m.nspname, m.relname, 'writes', 'pg_rewrite'::regclass, w.oid FROM members m JOIN pg_rewrite w ON w.ev_class = m.oid
),
run AS MATERIALIZED (
  SELECT c.nspname, c.relname, c.sort, c.class, coalesce(o.oprcode::oid, d.refobjid) AS oid
    FROM code c
    JOIN pg_depend d ON d.classid = c.class AND d.objid = c.oid AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
    LEFT JOIN pg_operator o ON o.oid = d.refobjid AND d.refclassid = 'pg_operator'::regclass
),
lacking AS (
  -- The function of a trigger needs no privilege. Only INSERT runs the functions of a default.
  SELECT r.nspname, r.relname, k.sort, 'EXECUTE on ' || r.oid::regprocedure AS what
    FROM run r CROSS JOIN (VALUES ('insert'), ('update')) AS k(sort)
   WHERE r.class NOT IN ('pg_trigger'::regclass, 'pg_rewrite'::regclass)
     AND (k.sort = 'insert' OR r.class NOT IN ('pg_attrdef'::regclass, 'pg_type'::regclass))
     AND NOT has_function_privilege(r.oid, 'EXECUTE')
  UNION
  SELECT c.nspname, c.relname, 'insert', 'USAGE on the sequence ' || s.oid::regclass
    FROM code c
    JOIN pg_depend d ON d.classid = c.class AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.refobjid
   WHERE c.class = 'pg_attrdef'::regclass
     AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE') END -- CASE, because it fails for other relations
),
owned AS (
  SELECT s.nspname, '' AS relname, 'schema' AS sort, 'the schema ' || quote_ident(s.nspname) AS what, s.nspowner AS owner FROM schemas s
  UNION ALL
  SELECT m.nspname, m.relname, 'relation', 'the table ' || quote_ident(m.relname), m.relowner FROM named m
  UNION ALL
  SELECT t.nspname, t.relname, 'type', 'the type ' || quote_ident(t.typname), t.typowner FROM made t
  UNION ALL
  SELECT r.nspname, r.relname, r.sort, 'the function ' || quote_ident(p.proname), p.proowner FROM run r JOIN pg_proc p ON p.oid = r.oid
  UNION ALL
  SELECT s.nspname, '', 'function', 'the function ' || quote_ident(p.proname), p.proowner
    FROM schemas s
    JOIN pg_proc p ON p.pronamespace = s.oid AND p.proname = ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'functions')))
)
SELECT DISTINCT o.nspname::text AS schema, o.relname::text AS relation, o.sort, o.what, pg_get_userbyid(o.owner)::text AS role
  FROM owned o WHERE o.owner NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT s.nspname::text, '', 'create', 'the schema ' || quote_ident(s.nspname),
       CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END
  FROM schemas s CROSS JOIN LATERAL aclexplode(s.nspacl) AS a
 WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT DISTINCT m.nspname::text, m.relname::text, 'trigger', 'the table ' || quote_ident(m.relname),
       CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END
  FROM members m JOIN pg_class c ON c.oid = m.oid CROSS JOIN LATERAL aclexplode(c.relacl) AS a
 WHERE a.privilege_type = 'TRIGGER' AND a.grantee NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT m.nspname::text, m.relname::text, 'child', quote_ident(c.relname), ''
  FROM named m JOIN pg_inherits i ON i.inhparent = m.oid JOIN pg_class c ON c.oid = i.inhrelid AND NOT c.relispartition
UNION ALL
SELECT p.nspname::text, lpad(p.place::text, 3, '0'), 'path', '', '' FROM path p
UNION ALL
SELECT DISTINCT c.nspname::text, c.relname::text, 'runs', '', ''
  FROM code c WHERE c.class IN ('pg_trigger'::regclass, 'pg_rewrite'::regclass)
UNION ALL
SELECT l.nspname::text, l.relname::text, l.sort, l.what, '' FROM lacking l
 ORDER BY 1, 2, 3, 4, 5
