-- Code of untrusted roles that a statement on these relations would run, and functions and sequences that the current role
-- may not use. Trusted are the current role, superusers, the database's owner and the roles that the operator listed.
-- sort: schema: `role` owns it; reads, writes: `role` owns an object whose code a read runs, or only a write; create: `role`
-- may create objects in the schema; trigger: `role` may create triggers on a table; child: another table inherits from it,
-- and is no partition; path: a schema of the role's own search_path, `relation` is its place there; runs: the table has
-- triggers or rules; locks: a change of the table also changes `what`; function: `role` owns one that is called; event: `role`
-- owns the function of an event trigger; insert, update: a privilege that is missing, without `role`.
-- command: DELETE, UPDATE or INSERT, if only that runs it, through a foreign key.
-- query: relation names
-- args: functions: names of functions that are called; like: patterns of further relations; trusted: names of roles
-- Indexes: pg_class_relname_nsp_index, pg_depend_depender_index, pg_trigger_tgrelid_tgname_index, pg_proc_proname_args_nsp_index.
WITH RECURSIVE
\ir parts/names.sql
,
trusted AS MATERIALIZED (
  SELECT r.oid FROM pg_roles r
   WHERE r.rolsuper OR r.rolname = current_user OR r.rolname = 'pg_database_owner'
      OR r.oid = (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())
      OR r.rolname = ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'trusted')))
),
named AS MATERIALIZED (
  SELECT c.oid, c.relname, c.relnamespace, n.nspname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relname = ANY (ARRAY(SELECT a.name FROM names a)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
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
-- Objects from this number on were created after initdb. The server records no dependency on its own.
casts AS MATERIALIZED (
  SELECT c.castsource, c.casttarget, c.castfunc FROM pg_cast c WHERE c.oid >= 16384 AND c.castfunc <> 0
),
classes AS MATERIALIZED (
  -- Operator classes that the server uses for a type in any statement.
  SELECT c.oid, c.opcintype FROM pg_opclass c WHERE c.oid >= 16384 AND c.opcdefault
),
own AS MATERIALIZED (
  -- What a read of them runs is already known: an engine is read only if all of its tables may be.
  SELECT m.oid, m.nspname FROM named m
),
anywhere AS (
  -- Casts, operator classes and their functions for types of the server.
  SELECT 'pg_proc'::regclass AS class, c.castfunc::oid AS oid FROM casts c WHERE c.castsource < 16384 AND c.casttarget < 16384
  UNION ALL
  SELECT 'pg_opclass'::regclass, c.oid FROM classes c WHERE c.opcintype < 16384
  UNION ALL
  SELECT 'pg_proc'::regclass, p.amproc FROM pg_amproc p WHERE p.oid >= 16384 AND p.amprocfamily < 16384
),
reach AS (
  -- All that a statement on a table may run, and the tables that it reaches. place: reads, writes: as sort; own: the table
  -- itself, its partition, or what only a write of them runs; looks: a table that only the check of a foreign key reads.
  -- via: class of the object that needs it.
  SELECT m.nspname, m.relname, ''::text AS command, 'own'::text AS place, NULL::regclass AS via, 'pg_class'::regclass AS class, m.oid
    FROM named m
  UNION ALL
  SELECT s.nspname, '', '', 'reads', NULL, a.class, a.oid FROM (SELECT DISTINCT m.nspname FROM named m) s CROSS JOIN anywhere a
  UNION
  SELECT r.nspname, r.relname, coalesce(s.command, r.command), s.place, CASE WHEN s.place IN ('own', 'reads') THEN s.via END, s.class, s.oid
    FROM reach r
   CROSS JOIN LATERAL (SELECT CASE WHEN r.place = 'reads' OR r.place = 'own' AND r.class = 'pg_class'::regclass THEN 'reads' ELSE 'writes' END AS reads,
                              r.class = 'pg_class'::regclass AS relation,
                              r.class = 'pg_class'::regclass AND (r.place IN ('own', 'reads') OR (r.oid, r.nspname) NOT IN (TABLE own)) AS readable,
                              r.class = 'pg_class'::regclass AND r.place IN ('own', 'writes') AS written) AS h
   CROSS JOIN LATERAL (
     SELECT NULL::text AS command, o.place, o.class AS via, d.refclassid::regclass AS class, d.refobjid AS oid
       FROM (SELECT h.reads AS place, r.class, r.oid WHERE h.readable OR NOT h.relation
              UNION ALL
             SELECT h.reads, 'pg_class'::regclass, i.indexrelid FROM pg_index i WHERE h.readable AND i.indrelid = r.oid
              UNION ALL
             SELECT h.reads, 'pg_policy'::regclass, p.oid FROM pg_policy p WHERE h.readable AND p.polrelid = r.oid
              UNION ALL
             SELECT h.reads, 'pg_statistic_ext'::regclass, x.oid FROM pg_statistic_ext x WHERE h.readable AND x.stxrelid = r.oid
              UNION ALL
             SELECT CASE WHEN w.ev_type = '1' THEN h.reads ELSE r.place END, 'pg_rewrite'::regclass, w.oid
               FROM pg_rewrite w WHERE h.relation AND w.ev_class = r.oid AND (h.written OR w.ev_type = '1')
              UNION ALL
             SELECT r.place, 'pg_attrdef'::regclass, a.oid FROM pg_attrdef a WHERE h.written AND a.adrelid = r.oid
              UNION ALL
             SELECT r.place, 'pg_constraint'::regclass, k.oid FROM pg_constraint k WHERE h.written AND k.conrelid = r.oid
              UNION ALL
             SELECT r.place, 'pg_constraint'::regclass, k.oid FROM pg_constraint k WHERE r.class = 'pg_type'::regclass AND k.contypid = r.oid
              UNION ALL
             SELECT r.place, 'pg_trigger'::regclass, g.oid
               FROM pg_trigger g WHERE h.written AND g.tgrelid = r.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D') AS o
      CROSS JOIN LATERAL (
        SELECT d.refclassid, d.refobjid
          FROM pg_depend d
         WHERE d.classid = o.class AND d.objid = o.oid
           AND (d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_type'::regclass)
                OR d.refclassid = 'pg_class'::regclass AND d.deptype = 'n'
                   AND o.class IN ('pg_proc'::regclass, 'pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_attrdef'::regclass))
        OFFSET 0) AS d -- OFFSET 0: by its index; a hash of all dependencies would be made in each round
     UNION ALL
     SELECT NULL, r.place, NULL, 'pg_class'::regclass, i.inhrelid FROM pg_inherits i WHERE h.relation AND i.inhparent = r.oid
     UNION ALL
     -- The triggers of foreign keys, on both sides: one with an effect writes, the others read.
     SELECT CASE WHEN r.place = 'own' THEN CASE WHEN g.tgtype & 8 > 0 THEN 'DELETE' WHEN g.tgtype & 16 > 0 THEN 'UPDATE' ELSE 'INSERT' END END,
            CASE WHEN p.proname ~ '^RI_FKey_(cascade|set)' THEN 'writes' ELSE 'looks' END, NULL, 'pg_class'::regclass, g.tgconstrrelid
       FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
      WHERE h.written AND g.tgrelid = r.oid AND g.tgisinternal AND g.tgconstrrelid <> 0 AND g.tgenabled <> 'D'
        AND (p.proname ~ '^RI_FKey_(cascade|set)' OR (g.tgconstrrelid, r.nspname) NOT IN (TABLE own))
     UNION ALL
     SELECT NULL, h.reads, NULL, 'pg_type'::regclass, c.reltype FROM pg_class c WHERE h.readable AND c.oid = r.oid AND c.reltype <> 0 AND EXISTS (TABLE casts)
     UNION ALL
     SELECT NULL, r.place, r.class, v.class, v.oid
       FROM pg_type t
      CROSS JOIN LATERAL (
        SELECT 'pg_proc'::regclass AS class, c.castfunc::oid AS oid
          FROM casts c WHERE t.oid IN (c.castsource, c.casttarget) OR t.typarray IN (c.castsource, c.casttarget)
         UNION ALL
        SELECT 'pg_opclass'::regclass, c.oid FROM classes c WHERE c.opcintype IN (t.oid, t.typarray)
         UNION ALL
        SELECT 'pg_class'::regclass, c.oid FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c') AS v
      WHERE r.class = 'pg_type'::regclass AND t.oid = r.oid
     UNION ALL
     -- The server does not know what the text of a function uses: each table of its schemas that the text names.
     SELECT NULL, h.reads, NULL, 'pg_class'::regclass, c.oid
       FROM pg_proc p
      CROSS JOIN LATERAL (SELECT array_agg(DISTINCT f.word) AS words FROM regexp_split_to_table(p.prosrc, '[^\w$]+') AS f(word)) AS f
      CROSS JOIN LATERAL unnest(f.words) AS w(word)
      CROSS JOIN LATERAL (
        SELECT c.oid, c.relnamespace FROM pg_class c WHERE c.relname = w.word AND c.relkind IN ('r', 'p', 'v', 'f') OFFSET 0) AS c
       JOIN pg_namespace n ON n.oid = c.relnamespace AND (n.oid = p.pronamespace OR n.nspname = r.nspname OR n.nspname = ANY (f.words))
      WHERE r.class = 'pg_proc'::regclass AND p.oid = r.oid AND p.oid >= 16384 AND p.prosqlbody IS NULL
     UNION ALL
     SELECT NULL, r.place, r.class, v.class, v.oid
       FROM pg_opclass c
      CROSS JOIN LATERAL (
        SELECT 'pg_proc'::regclass AS class, p.amproc::oid AS oid FROM pg_amproc p WHERE p.amprocfamily = c.opcfamily AND p.amproc >= 16384::oid
         UNION ALL
        SELECT 'pg_operator'::regclass, o.amopopr FROM pg_amop o WHERE o.amopfamily = c.opcfamily AND o.amopopr >= 16384::oid) AS v
      WHERE r.class = 'pg_opclass'::regclass AND c.oid = r.oid
   ) AS s
),
there AS MATERIALIZED (
  SELECT r.nspname, r.relname, r.command, r.place, r.via, r.class, r.oid,
         CASE WHEN r.place = 'reads' OR r.place = 'own' AND r.class = 'pg_class'::regclass THEN 'reads' ELSE 'writes' END AS sort
    FROM reach r
),
tables AS MATERIALIZED (
  SELECT t.nspname, t.relname, t.command, t.place, t.sort, c.oid, c.relowner, c.relacl, c.relkind, c.relispartition, c.relname AS name,
         c.relnamespace
    FROM there t JOIN pg_class c ON c.oid = t.oid
   WHERE t.class = 'pg_class'::regclass AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
),
lacking AS (
  -- The function of a trigger needs no privilege. Only INSERT runs the functions of a default.
  SELECT t.nspname, t.relname, k.sort, 'EXECUTE on ' || f.oid::regprocedure AS what
    FROM there t
    LEFT JOIN pg_operator o ON o.oid = t.oid AND t.class = 'pg_operator'::regclass
   CROSS JOIN LATERAL (SELECT coalesce(o.oprcode::oid, t.oid) AS oid) AS f
   CROSS JOIN (VALUES ('insert'), ('update')) AS k(sort)
   WHERE t.class IN ('pg_proc'::regclass, 'pg_operator'::regclass)
     AND t.via IN ('pg_attrdef'::regclass, 'pg_type'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass, 'pg_policy'::regclass)
     AND (k.sort = 'insert' OR t.via NOT IN ('pg_attrdef'::regclass, 'pg_type'::regclass))
     AND NOT has_function_privilege(f.oid, 'EXECUTE')
  UNION
  SELECT t.nspname, t.relname, 'insert', 'USAGE on the sequence ' || t.oid::regclass
    FROM there t JOIN pg_class s ON s.oid = t.oid
   WHERE t.class = 'pg_class'::regclass AND t.via = 'pg_attrdef'::regclass
     AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE') END -- CASE, because it fails for other relations
),
owned AS (
  SELECT s.nspname, '' AS relname, '' AS command, 'schema' AS sort, 'the schema ' || quote_ident(s.nspname) AS what, s.nspowner AS owner
    FROM schemas s
  UNION ALL
  SELECT t.nspname, t.relname, t.command, t.sort, 'the table ' || quote_ident(t.name), t.relowner FROM tables t
  UNION ALL
  SELECT t.nspname, t.relname, t.command, t.sort, 'the type ' || quote_ident(y.typname), y.typowner
    FROM there t JOIN pg_type y ON y.oid = t.oid WHERE t.class = 'pg_type'::regclass
  UNION ALL
  SELECT t.nspname, t.relname, t.command, t.sort, 'the function ' || quote_ident(p.proname), p.proowner
    FROM there t JOIN pg_proc p ON p.oid = t.oid WHERE t.class = 'pg_proc'::regclass
  UNION ALL
  SELECT s.nspname, '', '', 'function', 'the function ' || quote_ident(p.proname), p.proowner
    FROM schemas s
    JOIN pg_proc p ON p.pronamespace = s.oid AND p.proname = ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'functions')))
  UNION ALL
  SELECT '', '', '', 'event', 'the function ' || quote_ident(p.proname) || ' of the event trigger ' || quote_ident(e.evtname), p.proowner
    FROM pg_event_trigger e JOIN pg_proc p ON p.oid = e.evtfoid WHERE e.evtenabled <> 'D'
)
SELECT DISTINCT o.nspname::text AS schema, o.relname::text AS relation, o.command, o.sort, o.what, pg_get_userbyid(o.owner)::text AS role
  FROM owned o WHERE o.owner NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT s.nspname::text, '', '', 'create', 'the schema ' || quote_ident(s.nspname),
       CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END
  FROM schemas s CROSS JOIN LATERAL aclexplode(s.nspacl) AS a
 WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT DISTINCT t.nspname::text, t.relname::text, t.command, 'trigger', 'the table ' || quote_ident(t.name),
       CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END
  FROM tables t CROSS JOIN LATERAL aclexplode(t.relacl) AS a
 WHERE t.place IN ('own', 'writes') AND a.privilege_type = 'TRIGGER' AND a.grantee NOT IN (SELECT t.oid FROM trusted t)
UNION ALL
SELECT DISTINCT t.nspname::text, t.relname::text, t.command, CASE WHEN has_table_privilege(t.oid, 'INSERT, UPDATE, DELETE') THEN 'locks' ELSE 'parses' END,
       format('"%s"."%s"', replace(n.nspname, '"', '""'), replace(t.name, '"', '""')), '' -- as the program quotes each name
  FROM tables t JOIN pg_namespace n ON n.oid = t.relnamespace
 WHERE t.place = 'writes' AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND has_schema_privilege(n.oid, 'USAGE')
UNION ALL
SELECT m.nspname::text, m.relname::text, '', 'child', quote_ident(c.relname), ''
  FROM named m JOIN pg_inherits i ON i.inhparent = m.oid JOIN pg_class c ON c.oid = i.inhrelid AND NOT c.relispartition
UNION ALL
SELECT p.nspname::text, lpad(p.place::text, 3, '0'), '', 'path', '', '' FROM path p
UNION ALL
SELECT DISTINCT t.nspname::text, t.relname::text, '', 'runs', '', ''
  FROM there t WHERE t.via IN ('pg_trigger'::regclass, 'pg_rewrite'::regclass) AND t.sort = 'writes'
UNION ALL
SELECT l.nspname::text, l.relname::text, '', l.sort, l.what, '' FROM lacking l
 ORDER BY 1, 2, 4, 5, 6, 3
