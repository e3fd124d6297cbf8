-- What the catalog says about the server, the roles of workers, and objects on the engines' tables that stop writes.
-- Roles that may be workers (inferred): those with a session here, and those that own or may write an engine's table.
-- A role is taken for a worker if it holds at least half of a worker's write privileges, if its application name names the
-- engine and it holds half of all privileges, or if its last statement, where visible, changes a table. Without a session
-- it is suspected, and only if no sound worker is connected, no other role holds all privileges, and it has more to write
-- than `grants` gives to an operator. Foreign objects are suspected only while a worker is connected:
-- they cannot stop one that is not there.
-- args: engines: label, schema, tables, known columns, workers, operator's privileges, own of each; tools: patterns of application names that are no workers
-- Indexes: pg_class_relname_nsp_index, pg_trigger_tgrelid_tgname_index, pg_constraint_conrelid_contypid_conname_index,
-- pg_index_indrelid_index, pg_db_role_setting_databaseid_rol_index; pg_roles, pg_stat_activity and pg_settings are read once.
WITH
\ir ../../sql/parts/standby_lag.sql
,
engines AS MATERIALIZED (
  SELECT e ->> 'label' AS label, n.oid AS schema, n.nspname, e -> 'tables' AS tables, e -> 'workers' AS workers, e -> 'own' AS own,
         e -> 'columns' AS columns, e -> 'operator' AS operator
    FROM jsonb_array_elements(:args -> 'engines') AS e JOIN pg_namespace n ON n.nspname = e ->> 'schema'
),
labels AS (SELECT array_agg(e.label) AS labels FROM engines e),
tables AS MATERIALIZED (
  SELECT e.label, c.oid, c.relname::text AS name, c.relowner, c.relacl, c.relrowsecurity, c.relforcerowsecurity, c.relpages,
         e.schema, e.nspname, e.own, e.columns
    FROM engines e
    JOIN pg_class c ON c.relnamespace = e.schema AND c.relkind IN ('r', 'p')
     AND c.relname = ANY (ARRAY(SELECT jsonb_array_elements_text(e.tables)))
),
workers AS MATERIALIZED (
  SELECT e.label, e.schema, e.nspname, w ->> 'title' AS kind, (w ->> 'path')::bool AS path, w -> 'privileges' AS privileges,
         w -> 'indexes' AS indexes, w -> 'queues' AS queues
    FROM engines e CROSS JOIN jsonb_array_elements(e.workers) AS w
),
asked AS MATERIALIZED (
  -- A name may have another schema: "EXECUTE pgmq.read".
  SELECT w.label, w.kind, CASE WHEN n.name LIKE '%.%' THEN (SELECT o.oid FROM pg_namespace o WHERE o.nspname = split_part(n.name, '.', 1))
                               ELSE w.schema END AS schema, n.word, regexp_replace(n.name, '^.*\.', '') AS name
    FROM workers w CROSS JOIN jsonb_array_elements_text(w.privileges) AS p
   CROSS JOIN LATERAL (SELECT split_part(p, ' ', 1) AS word, split_part(p, ' ', 2) AS name) AS n
),
needed AS MATERIALIZED (
  SELECT a.label, a.kind, a.word, c.oid, a.name, 'table' AS sort
    FROM asked a JOIN pg_class c ON c.relnamespace = a.schema AND c.relname = a.name AND c.relkind IN ('r', 'p')
   WHERE a.word NOT IN ('EXECUTE', 'USAGE')
  UNION ALL
  SELECT a.label, a.kind, a.word, p.oid, a.name, 'function'
    FROM asked a JOIN pg_proc p ON p.pronamespace = a.schema AND p.proname = a.name WHERE a.word = 'EXECUTE'
  UNION ALL
  SELECT a.label, a.kind, a.word, n.oid, 'schema ' || a.name, 'schema'
    FROM asked a JOIN pg_namespace n ON n.nspname = a.name WHERE a.word = 'USAGE'
  UNION ALL
  SELECT w.label, w.kind, 'USAGE', w.schema, 'schema ' || w.nspname, 'schema' FROM workers w
  UNION ALL
  SELECT a.label, a.kind, 'USAGE', s.oid, 'sequence ' || s.relname, 'sequence'
    FROM asked a JOIN pg_class c ON c.relnamespace = a.schema AND c.relname = a.name
    JOIN pg_attrdef f ON f.adrelid = c.oid
    JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
   WHERE a.word = 'INSERT'
),
sessions AS MATERIALIZED (
  SELECT a.usesysid, a.query, a.state, a.state_change, a.application_name
    FROM pg_stat_activity a
   WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
     AND coalesce(a.backend_type, 'client backend') = 'client backend'
     AND NOT lower(a.application_name) LIKE ANY (ARRAY(SELECT jsonb_array_elements_text(:args -> 'tools')))
),
connected AS MATERIALIZED (
  SELECT s.usesysid, count(*) AS n,
         (array_agg(s.state || ' since ' || date_trunc('second', s.state_change) ORDER BY s.state_change DESC)
            FILTER (WHERE s.state IS NOT NULL))[1] AS newest
    FROM sessions s GROUP BY s.usesysid
),
roles AS MATERIALIZED (
  SELECT r.oid, r.rolname, r.rolsuper, r.rolbypassrls, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil,
         coalesce(c.n, 0) AS n, c.newest
    FROM pg_roles r LEFT JOIN connected c ON c.usesysid = r.oid
   WHERE c.n > 0
      OR NOT r.rolsuper AND r.oid IN (
           SELECT x.grantee FROM tables t CROSS JOIN LATERAL aclexplode(coalesce(t.relacl, acldefault('r', t.relowner))) AS x
            WHERE x.privilege_type IN ('INSERT', 'UPDATE', 'DELETE'))
   ORDER BY c.n DESC NULLS LAST, r.oid LIMIT 50
),
fits AS MATERIALIZED (
  SELECT h.label, h.kind, h.role, count(*) FILTER (WHERE h.ok) * 2 >= count(*) AS most,
         count(*) FILTER (WHERE h.word IN ('INSERT', 'UPDATE', 'DELETE')) AS writes,
         count(*) FILTER (WHERE h.word IN ('INSERT', 'UPDATE', 'DELETE') AND h.ok) AS held,
         string_agg(DISTINCT h.word || ' on ' || h.name, ', ') FILTER (WHERE NOT h.ok) AS lacks
    FROM (SELECT n.label, n.kind, r.oid AS role, n.word, n.name,
                 CASE n.sort WHEN 'function' THEN has_function_privilege(r.oid, n.oid, n.word)
                             WHEN 'schema' THEN has_schema_privilege(r.oid, n.oid, n.word)
                             WHEN 'sequence' THEN has_sequence_privilege(r.oid, n.oid, n.word)
                             ELSE has_table_privilege(r.oid, n.oid, n.word)
                                  OR n.word IN ('SELECT', 'INSERT', 'UPDATE') AND has_any_column_privilege(r.oid, n.oid, n.word) END AS ok
            FROM needed n CROSS JOIN roles r) AS h
   GROUP BY h.label, h.kind, h.role
),
operators AS MATERIALIZED (
  SELECT e.label, r.oid AS role
    FROM engines e CROSS JOIN roles r
   WHERE r.n = 0
     AND NOT EXISTS (SELECT FROM tables t CROSS JOIN unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS w(word)
                      WHERE t.label = e.label AND has_table_privilege(r.oid, t.oid, w.word) AND NOT e.operator ? (w.word || ' ' || t.name))
),
likely AS MATERIALIZED (
  SELECT f.label, f.kind, f.role, f.lacks, r.rolname, r.rolsuper, r.rolbypassrls, r.n > 0 AS live, r.n,
         r.n > 0 AND (f.held * 2 >= f.writes OR r.named) AS sure,
         CASE WHEN r.n = 0 THEN 'It has no session here.'
              ELSE format('It has %s session%s here%s.', r.n, CASE WHEN r.n > 1 THEN 's' END,
                          CASE WHEN r.n > 1 THEN ', the newest ' || r.newest ELSE ', ' || r.newest END) END AS doing
    FROM fits f
   CROSS JOIN LATERAL (
     SELECT r.*, EXISTS (
              SELECT FROM sessions s JOIN tables t ON t.label = f.label
               WHERE s.usesysid = r.oid
                 AND (f.most AND s.application_name ILIKE '%' || f.label || '%'
                      OR s.query ~* ('\m(UPDATE|DELETE\s+FROM)\s+("?\w+"?\.)?"?' || t.name || '\M'))) AS named
       FROM roles r WHERE r.oid = f.role) AS r
   WHERE (r.rolcanlogin AND (f.label, f.role) NOT IN (TABLE operators) OR r.n > 0)
     AND (NOT r.rolsuper AND f.held > 0 AND f.held * 2 >= f.writes OR r.named)
),
hidden AS MATERIALIZED (
  -- Row-level security that a role does not bypass. `hard`: no policy lets it do what it must.
  SELECT k.label, k.kind, k.role, string_agg(DISTINCT t.name, ', ') AS names, bool_or(p.names IS NULL) AS hard,
         string_agg(DISTINCT p.names, ', ') AS policies
    FROM likely k
    JOIN tables t ON t.label = k.label AND t.relrowsecurity
    JOIN needed n ON n.label = k.label AND n.kind = k.kind AND n.sort = 'table' AND n.oid = t.oid
   CROSS JOIN LATERAL (
     -- The text of an expression tree is read, because pg_get_expr() would wait for a lock on the table.
     SELECT string_agg(quote_ident(p.polname), ', ') AS names,
            bool_or(coalesce(CASE WHEN n.word = 'INSERT' THEN p.polwithcheck END, p.polqual)::text
                    ~ '^\{CONST :consttype 16 .*:constvalue 1 \[ 1 ') AS everything FROM pg_policy p
      WHERE p.polrelid = t.oid AND p.polpermissive
        AND p.polcmd IN ('*', CASE n.word WHEN 'SELECT' THEN 'r' WHEN 'INSERT' THEN 'a' WHEN 'UPDATE' THEN 'w' ELSE 'd' END)
        AND EXISTS (SELECT FROM unnest(p.polroles) AS o(oid) WHERE CASE WHEN o.oid = 0 THEN true ELSE pg_has_role(k.role, o.oid, 'USAGE') END)) AS p
   WHERE NOT k.rolsuper AND NOT k.rolbypassrls AND p.everything IS NOT TRUE
     AND (t.relforcerowsecurity OR NOT pg_has_role(k.role, t.relowner, 'USAGE'))
   GROUP BY k.label, k.kind, k.role
),
settings AS MATERIALIZED (
  SELECT s.setrole, s.setdatabase, split_part(c.setting, '=', 1) AS name, substr(c.setting, strpos(c.setting, '=') + 1) AS value
    FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS c(setting)
   WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
  UNION ALL
  -- A setting of the role or the database of this session hides that of the configuration file.
  SELECT 0, NULL, p.name, p.reset_val FROM pg_settings p
   WHERE p.name IN ('default_transaction_read_only', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
                    'default_transaction_isolation', 'session_replication_role')
     AND p.source NOT IN ('default', 'database', 'user', 'database user', 'client', 'session') AND p.reset_val NOT IN ('0', 'off', 'origin')
),
timed AS (
  SELECT s.*, (regexp_match(s.value, '^(\d+(?:\.\d+)?)'))[1]::float8
              * CASE substring(s.value FROM '[a-z]+$') WHEN 'us' THEN 0.001 WHEN 's' THEN 1000 WHEN 'min' THEN 60000
                     WHEN 'h' THEN 3600000 WHEN 'd' THEN 86400000 ELSE 1 END AS ms
    FROM settings s WHERE s.value ~ '^\d+(\.\d+)? *(us|ms|s|min|h|d)?$'
),
harmful AS MATERIALIZED (
  -- `hard`: it certainly stops a worker. A longer timeout is only suspected.
  SELECT t.setrole, t.setdatabase, t.name, t.value, t.ms < m.hard AS hard, m.effect
    FROM timed t
    JOIN (VALUES ('statement_timeout', 100, 5000, 'the server cancels its statements'),
                 ('transaction_timeout', 100, 5000, 'the server ends its transactions'),
                 ('idle_in_transaction_session_timeout', 50, 5000, 'the server ends its sessions between two statements'),
                 ('idle_session_timeout', 50, 10000, 'the server ends its idle sessions'),
                 ('lock_timeout', 5, 500, 'its statements fail when they wait for a lock')) AS m(name, hard, soft, effect) ON m.name = t.name
   WHERE t.ms > 0 AND t.ms < m.soft
  UNION ALL
  SELECT s.setrole, s.setdatabase, s.name, s.value, true, 'it cannot write'
    FROM settings s
   WHERE s.name = 'default_transaction_read_only' AND s.setrole <> 0 AND lower(s.value) IN ('on', 'true', 'yes', '1')
  UNION ALL
  SELECT s.setrole, s.setdatabase, s.name, s.value, m.hard, m.effect
    FROM settings s
    JOIN (VALUES ('role', 'none', false, 'it has the privileges of that role only'),
                 ('session_replication_role', 'origin', EXISTS (SELECT FROM tables t CROSS JOIN jsonb_array_elements_text(t.own -> 'always') AS m(meaning)
                                                                 WHERE starts_with(m.meaning, 'trigger on ')), 'triggers of the engine do not run'),
                 ('default_transaction_isolation', 'read committed', false,
                  'its statements fail if another transaction has changed a row since theirs began')) AS m(name, usual, hard, effect)
      ON m.name = s.name AND lower(s.value) <> m.usual
),
settled AS MATERIALIZED (
  SELECT k.label, k.kind, k.role, h.name, h.value, h.hard, h.effect FROM likely k JOIN harmful h ON h.setrole = k.role
  UNION ALL
  SELECT k.label, k.kind, k.role, s.name, s.value, false, format('it does not find tables in the schema %s', w.nspname)
    FROM likely k JOIN workers w ON w.label = k.label AND w.kind = k.kind AND w.path
    JOIN settings s ON s.name = 'search_path' AND s.setrole IN (0, k.role)
   WHERE NOT w.nspname = ANY (ARRAY(SELECT trim(trim(x), '"') FROM unnest(string_to_array(s.value, ',')) AS x))
     AND NOT (s.value LIKE '%$user%' AND k.rolname = w.nspname)
),
sound AS MATERIALIZED (
  SELECT DISTINCT k.label, k.kind FROM likely k
   WHERE k.live AND NOT k.rolsuper AND k.lacks IS NULL
     AND NOT EXISTS (SELECT FROM hidden h WHERE (h.label, h.kind, h.role) = (k.label, k.kind, k.role) AND h.hard)
     AND NOT EXISTS (SELECT FROM settled s WHERE (s.label, s.kind, s.role) = (k.label, k.kind, k.role) AND s.hard)
),
judged AS MATERIALIZED (
  SELECT k.*, EXISTS (SELECT FROM sound s WHERE (s.label, s.kind) = (k.label, k.kind))
              OR NOT k.live AND EXISTS (SELECT FROM likely o WHERE (o.label, o.kind) = (k.label, k.kind) AND o.lacks IS NULL AND o.role <> k.role) AS others
    FROM likely k
),
queues AS MATERIALIZED (
  -- Tables whose names begin as `queues` says, with the privileges that a reader needs.
  SELECT w.label, c.oid, c.relname::text AS name, split_part(p, ' ', 1) AS word
    FROM workers w CROSS JOIN jsonb_array_elements_text(w.queues) AS p
    JOIN pg_namespace n ON n.nspname = split_part(split_part(p, ' ', 2), '.', 1)
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND starts_with(c.relname, split_part(split_part(p, ' ', 2), '.', 2))
),
unread AS MATERIALIZED (
  -- A queue that no connected worker may read, and what the one with the most privileges lacks.
  SELECT DISTINCT ON (h.label, h.name) h.label, h.name, h.rolname, h.doing, h.lacks
    FROM (SELECT q.label, q.name, k.rolname, k.doing, count(*) FILTER (WHERE NOT p.ok) AS n,
                 string_agg(DISTINCT q.word, ', ') FILTER (WHERE NOT p.ok) AS lacks
            FROM queues q JOIN (SELECT DISTINCT k.label, k.role, k.rolname, k.doing FROM likely k WHERE k.live) AS k ON k.label = q.label
           CROSS JOIN LATERAL (SELECT has_table_privilege(k.role, q.oid, q.word) AS ok) AS p
           GROUP BY q.label, q.name, k.rolname, k.doing) AS h
   WHERE NOT EXISTS (SELECT FROM likely k WHERE k.label = h.label AND k.live
                        AND NOT EXISTS (SELECT FROM queues q WHERE (q.label, q.name) = (h.label, h.name) AND NOT has_table_privilege(k.role, q.oid, q.word)))
   ORDER BY h.label, h.name, h.n, h.rolname
),
called AS MATERIALIZED (
  -- Functions of the engine that its workers or its triggers call.
  SELECT a.label, a.name::name AS name FROM asked a WHERE a.word = 'EXECUTE'
  UNION
  SELECT t.label, p.proname FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal JOIN pg_proc p ON p.oid = g.tgfoid
),
-- Triggers, constraints and unique indexes of the relations in `tables`. `meaning` has no name of an object, and
-- no schema, cast or bracket of an expression. It is NULL where it cannot be read: pg_get_expr() would wait for a lock.
exclusive AS MATERIALIZED (
  SELECT l.relation FROM pg_locks l
   WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
),
parts AS (
  SELECT t.label, t.oid, 'trigger' AS sort, g.oid AS id, g.tgname AS object, t.name AS place,
         concat_ws(' ', CASE WHEN g.tgtype & 2 > 0 THEN 'before' WHEN g.tgtype & 64 > 0 THEN 'instead of' ELSE 'after' END,
                   CASE WHEN g.tgtype & 4 > 0 THEN 'insert' END, CASE WHEN g.tgtype & 8 > 0 THEN 'delete' END,
                   CASE WHEN g.tgtype & 16 > 0 THEN 'update' END, CASE WHEN g.tgtype & 32 > 0 THEN 'truncate' END, p.proname) AS content
    FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal JOIN pg_proc p ON p.oid = g.tgfoid
  UNION ALL
  SELECT t.label, t.oid, 'check', k.oid, k.conname, t.name,
         CASE WHEN t.oid NOT IN (TABLE exclusive) THEN pg_get_expr(k.conbin, k.conrelid) END
    FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'c'
  UNION ALL
  -- Foreign keys of the table, and those of others that refer to it. Not a join: the planner would read all of pg_class.
  SELECT t.label, t.oid, CASE WHEN f.own THEN 'foreign key' ELSE 'reference' END, k.oid, k.conname,
         (SELECT c.relname::text FROM pg_class c WHERE c.oid = k.conrelid),
         (SELECT string_agg(a.attname, ', ' ORDER BY n.n) FROM unnest(k.conkey) WITH ORDINALITY AS n(attnum, n)
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.attnum)
         || ' to ' || (SELECT c.relname::text FROM pg_class c WHERE c.oid = k.confrelid)
    FROM tables t CROSS JOIN (VALUES (true), (false)) AS f(own)
    JOIN pg_constraint k ON k.contype = 'f' AND CASE WHEN f.own THEN k.conrelid ELSE k.confrelid END = t.oid
  UNION ALL
  -- The columns that functions of the engine use.
  SELECT t.label, t.oid, 'function', t.oid, c.name, c.name::text,
         (SELECT coalesce(string_agg(DISTINCT a.attname, ' '), '') FROM pg_proc p, tables o JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
           WHERE (p.proname, p.pronamespace, o.label) = (c.name, t.schema, t.label) AND p.prosrc ~* ('\m' || a.attname || '\M'))
    FROM (SELECT t.label, min(t.oid::int8)::oid AS oid, n.oid AS schema FROM tables t JOIN pg_namespace n ON n.nspname = t.nspname GROUP BY t.label, n.oid) AS t
    JOIN called c ON c.label = t.label
  UNION ALL
  SELECT t.label, t.oid, CASE WHEN i.indisexclusion THEN 'exclusion constraint' ELSE 'unique index' END, i.indexrelid, c.relname, t.name,
         CASE WHEN i.indpred IS NULL AND i.indexprs IS NULL OR t.oid NOT IN (TABLE exclusive) THEN
           (SELECT string_agg(a.attname, ', ' ORDER BY n.n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS n(attnum, n)
              LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = n.attnum WHERE n.n <= i.indnkeyatts)
           || coalesce(' of ' || pg_get_expr(i.indexprs, i.indrelid), '') || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '') END
    FROM tables t JOIN pg_index i ON i.indrelid = t.oid AND (i.indisunique OR i.indisexclusion) JOIN pg_class c ON c.oid = i.indexrelid
  UNION ALL
  SELECT t.label, t.oid, 'default', a.attnum, a.attname, t.name, a.attname
    FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type y ON y.oid = a.atttypid
   WHERE a.atthasdef OR a.attidentity <> '' OR y.typdefaultbin IS NOT NULL
  UNION ALL
  SELECT DISTINCT t.label, t.oid, 'domain check', k.oid, k.conname, y.typname::text, pg_get_expr(k.conbin, 0)
    FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND NOT a.attisdropped JOIN pg_type y ON y.oid = a.atttypid AND y.typtype = 'd'
    JOIN pg_constraint k ON k.contypid = y.oid AND k.contype = 'c'
),
objects AS MATERIALIZED (
  SELECT p.label, p.oid, p.sort, p.id, p.object, p.place,
         CASE p.sort WHEN 'reference' THEN 'foreign key' ELSE p.sort END || ' on ' || p.place || ': ' || regexp_replace(
           replace(p.content, quote_ident(t.nspname) || '.', ''),
           '::("?[a-z_0-9]+"?[.])?"?[a-z_0-9]+"?( varying| precision| with time zone| without time zone)?([(][0-9]+[)])?([[][]])?|[()]', '', 'g') AS meaning
    FROM parts p JOIN tables t ON (t.label, t.oid) = (p.label, p.oid)
),
written AS (
  -- The tables that a worker writes; objects on others cannot stop it.
  SELECT t.label, t.oid, t.name, t.schema, t.nspname, t.own, t.columns
    FROM tables t
   WHERE jsonb_array_length(t.own -> 'objects') > 0
     AND EXISTS (SELECT FROM asked a WHERE a.label = t.label AND a.name = t.name AND a.word IN ('INSERT', 'UPDATE', 'DELETE'))
),
differences AS (
  -- Of these tables from the recorded facts. An integer or a text of another type that holds as much is none; less than 200 characters are less.
  SELECT w.label, w.name, 1 AS sort, format('it is UNLOGGED and the engine''s is not, so the end of a crash empties it%s',
           CASE WHEN pg_stat_get_tuples_inserted(w.oid) = 0 THEN format(' (the server started at %s, and no row was inserted since)', date_trunc('second', pg_postmaster_start_time())) END) AS what
    FROM written w JOIN pg_class c ON c.oid = w.oid AND c.relpersistence = 'u' WHERE NOT w.own -> 'varies' ? ('unlogged ' || w.name)
  UNION ALL
  SELECT w.label, w.name, 2, format('%s has the type %s, the engine''s has %s', quote_ident(a.attname), n.present, n.genuine)
    FROM written w JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
   CROSS JOIN LATERAL (SELECT CASE WHEN w.own -> 'columns' -> w.name ? (a.attname || ' text') AND a.atttypmod BETWEEN 4 AND 203 THEN a.atttypmod END AS short) AS m
   CROSS JOIN LATERAL (
     SELECT replace(format_type(a.atttypid, m.short), w.schema::regnamespace::text || '.', '') AS present, string_agg(DISTINCT split_part(o.c, a.attname || ' ', 2), ' or ') AS genuine,
            '{smallint,integer,bigint}'::text[] AS integers, '{text,"character varying"}'::text[] AS texts
       FROM jsonb_array_elements_text(w.own -> 'columns' -> w.name) AS o(c) WHERE starts_with(o.c, a.attname || ' ')) AS n
   WHERE NOT w.own -> 'columns' -> w.name ? (a.attname || ' ' || n.present)
     AND NOT array_position(n.integers, n.present) > array_position(n.integers, n.genuine) IS TRUE AND NOT (m.short IS NULL AND n.present = ANY (n.texts) AND n.genuine = ANY (n.texts))
  UNION ALL
  SELECT w.label, w.name, 3, format('%s has no default, the engine''s has one', quote_ident(a.attname))
    FROM written w JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
   WHERE w.own -> 'always' ? ('default on ' || w.name || ': ' || a.attname)
     AND NOT EXISTS (SELECT FROM objects o WHERE (o.label, o.oid, o.sort, o.object) = (w.label, w.oid, 'default', a.attname))
  UNION ALL
  SELECT w.label, w.name, 4, format('the domain %s has CHECK (%s), the engine''s has %s', o.place, split_part(o.meaning, ': ', 2),
           coalesce((SELECT string_agg(format('CHECK (%s)', split_part(m.meaning, ': ', 2)), ' and ') FROM jsonb_array_elements_text(w.own -> 'always') AS m(meaning)
                      WHERE starts_with(m.meaning, 'domain check on ' || o.place || ': ')), 'none'))
    FROM written w JOIN objects o ON (o.label, o.oid, o.sort) = (w.label, w.oid, 'domain check') AND NOT w.own -> 'objects' ? o.meaning
  UNION ALL
  SELECT w.label, w.name, 5, format('it does not have the engine''s %s (%s)', split_part(m.meaning, ' on ', 1), split_part(m.meaning, ': ', 2))
    FROM written w CROSS JOIN jsonb_array_elements_text(w.own -> 'always') AS m(meaning)
   WHERE (starts_with(m.meaning, 'check on ' || w.name || ': ') OR starts_with(m.meaning, 'foreign key on ' || w.name || ': '))
     AND w.oid NOT IN (TABLE exclusive) AND NOT EXISTS (SELECT FROM objects o WHERE (o.label, o.oid, o.meaning) = (w.label, w.oid, m.meaning))
  UNION ALL
  SELECT w.label, w.name, 6, format('it does not have the trigger that calls %s', p.proname)
    FROM written w CROSS JOIN jsonb_array_elements_text(w.own -> 'always') AS m(meaning)
    JOIN pg_proc p ON p.pronamespace = w.schema AND p.proname = substring(m.meaning FROM '(\w+)$')
   WHERE starts_with(m.meaning, 'trigger on ' || w.name || ': ') AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = w.oid AND g.tgfoid = p.oid)
  UNION ALL
  SELECT w.label, w.name, 7, format('the publication %s publishes its changes, and it has no replica identity, so each UPDATE and DELETE fails', p.pubname)
    FROM written w JOIN pg_class c ON c.oid = w.oid JOIN pg_publication p ON p.pubupdate OR p.pubdelete
   WHERE EXISTS (SELECT FROM pg_publication_tables u WHERE u.pubname = p.pubname AND (u.schemaname, u.tablename) = (w.nspname, w.name))
     AND (c.relreplident = 'n' OR c.relreplident IN ('d', 'i') AND NOT EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = w.oid AND i.indisvalid AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END))
  UNION ALL
  SELECT w.label, w.name, 8, format('it has no partition for a %s after %s, so each INSERT of one fails', quote_ident(a.attname), n.until)
    FROM written w JOIN pg_partitioned_table p ON p.partrelid = w.oid AND p.partstrat = 'r' AND p.partdefid = 0
    JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum = p.partattrs[0]
    JOIN pg_type y ON y.oid = a.atttypid AND coalesce(nullif(y.typbasetype, 0), y.oid) IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)
   CROSS JOIN LATERAL (SELECT max(substring(pg_get_expr(x.relpartbound, 0) FROM 'TO \(''([^'']+)''\)$')::timestamptz) AS until, count(*) FILTER (WHERE pg_get_expr(x.relpartbound, 0) ~ 'MAXVALUE') AS open
                         FROM pg_inherits i JOIN pg_class x ON x.oid = i.inhrelid WHERE i.inhparent = w.oid) AS n
   WHERE n.until <= now() AND n.open = 0
  UNION ALL
  -- Of functions, each that does not use a column that the engine's uses.
  SELECT e.label, n.name, CASE WHEN f.there THEN 9 ELSE 8 END, CASE WHEN f.there THEN format('it does not use %s', l.columns) ELSE 'it does not exist' END
    FROM engines e CROSS JOIN jsonb_array_elements_text(e.own -> 'always') AS m(meaning)
   CROSS JOIN LATERAL (SELECT substring(m.meaning FROM '^function on (\w+): ') AS name) AS n
    LEFT JOIN objects o ON (o.label, o.sort, o.object) = (e.label, 'function', n.name)
   CROSS JOIN LATERAL (SELECT count(*) > 0 AS there, coalesce(bool_or(p.prosrc = ''), false) AS parsed FROM pg_proc p WHERE (p.proname, p.pronamespace) = (n.name, e.schema)) AS f
   CROSS JOIN LATERAL (SELECT string_agg(c, ', ') AS columns FROM unnest(string_to_array(split_part(m.meaning, ': ', 2), ' ')) AS c
                        WHERE c <> ALL (string_to_array(split_part(coalesce(o.meaning, ''), ': ', 2), ' '))) AS l
   WHERE n.name IS NOT NULL AND l.columns IS NOT NULL AND NOT f.parsed AND (o.meaning IS NOT NULL OR NOT f.there)
  UNION ALL
  -- Of the tables of a queue, each that others of that queue have.
  SELECT DISTINCT w.label, o.start || substr(c.relname, length(m.start) + 1), 8, 'it does not exist'
    FROM workers w
   CROSS JOIN LATERAL (SELECT DISTINCT split_part(q, '.', 1) AS place, split_part(q, '.', 2) AS start FROM jsonb_array_elements_text(w.queues) AS p, split_part(p, ' ', 2) AS q) AS m
   CROSS JOIN LATERAL (SELECT DISTINCT split_part(q, '.', 2) AS start FROM jsonb_array_elements_text(w.queues) AS p, split_part(p, ' ', 2) AS q) AS o
    JOIN pg_namespace n ON n.nspname = m.place
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND starts_with(c.relname, m.start)
   WHERE o.start <> m.start
     AND NOT EXISTS (SELECT FROM pg_class c2 WHERE c2.relnamespace = n.oid AND c2.relname = o.start || substr(c.relname, length(m.start) + 1))
),
unique_rules AS MATERIALIZED (
  -- The engine's, and those that there are, in any form: without columns that the predicate makes constant.
  SELECT u.label, u.oid, u.meaning, u.own, u.predicate, ARRAY(SELECT c FROM unnest(string_to_array(u.columns, ', ')) AS c WHERE c <> u.predicate ORDER BY c) AS columns
    FROM (SELECT o.label, o.oid, o.meaning, o.own, split_part(split_part(o.meaning, ': ', 2), ' where ', 1) AS columns,
                 replace(split_part(o.meaning, ' where ', 2), ' = true', '') AS predicate
            FROM (SELECT o.label, o.oid, o.meaning, false AS own FROM objects o WHERE o.sort = 'unique index'
                  UNION ALL
                  SELECT t.label, t.oid, m.meaning, true FROM written t CROSS JOIN jsonb_array_elements_text(t.own -> 'unique') AS m(meaning)
                   WHERE starts_with(m.meaning, 'unique index on ' || t.name || ': ')) AS o) AS u
),
foreign_objects AS MATERIALIZED (
  -- `strength` 2: it certainly changes what a worker's statement does; 1: its code can raise an error or wait.
  SELECT t.label, CASE WHEN p.prosrc ~* '\mraise\s+(exception|sqlstate|''|[a-z_]+\s*(using|;))|\mpg_sleep|\mlock\s+table|\mdblink'
                         OR o.sort = 'trigger' AND g.tgtype & 3 = 3 AND p.prosrc ~* '\mreturn\s+null\M'
                         OR o.sort = 'check' AND NOT k.convalidated THEN 1 ELSE 0 END AS strength,
         CASE o.sort
           WHEN 'trigger' THEN format('trigger %s on %s (function %s of %s)', quote_ident(o.object), t.name, quote_ident(p.proname), pg_get_userbyid(p.proowner))
           WHEN 'reference' THEN format('foreign key %s of %s, which refers to %s', quote_ident(o.object), k.conrelid::regclass, t.name)
           ELSE format('%s %s on %s', o.sort, quote_ident(o.object), t.name) END AS what
    FROM written t JOIN objects o ON (o.label, o.oid) = (t.label, t.oid)
    LEFT JOIN pg_trigger g ON g.oid = o.id AND o.sort = 'trigger'
    LEFT JOIN pg_proc p ON p.oid = g.tgfoid
    LEFT JOIN pg_constraint k ON k.oid = o.id AND o.sort IN ('check', 'foreign key', 'reference')
   WHERE NOT t.own -> 'objects' ? o.meaning AND o.sort NOT IN ('default', 'domain check', 'function')
     AND CASE o.sort
           WHEN 'trigger' THEN g.tgenabled IN ('O', 'A')
           WHEN 'foreign key' THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = k.confrelid AND c.relnamespace = t.schema)
           WHEN 'reference' THEN k.confdeltype IN ('a', 'r')
                             AND EXISTS (SELECT FROM asked a WHERE a.label = t.label AND a.word = 'DELETE' AND a.name = t.name)
           WHEN 'unique index' THEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = o.id AND i.indisprimary)
                AND NOT EXISTS (SELECT FROM unique_rules a JOIN unique_rules b USING (label, oid, columns, predicate)
                                 WHERE (a.label, a.oid, a.meaning, b.own) = (o.label, o.oid, o.meaning, true))
           ELSE true END
  UNION ALL
  -- A column that the console does not know, after all that it knows. It needs a value, and the engine gives none.
  SELECT t.label, 1, format('column %s of %s, which is NOT NULL and has no default', quote_ident(a.attname), t.name)
    FROM written t
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND NOT a.attisdropped
    JOIN pg_type y ON y.oid = a.atttypid AND y.typdefaultbin IS NULL
   WHERE NOT t.own -> 'objects' ? ('column on ' || t.name || ': ' || a.attname)
     AND a.attnum > (SELECT max(k.attnum) FROM pg_attribute k WHERE k.attrelid = t.oid AND t.columns -> t.name ? k.attname::text)
  UNION ALL
  SELECT t.label, CASE WHEN w.is_instead THEN 2 ELSE 1 END, format('rule %s on %s', quote_ident(w.rulename), t.name)
    FROM written t JOIN pg_rewrite w ON w.ev_class = t.oid AND w.ev_enabled <> 'D'
),
-- A valid index that starts with the columns, and the state of those that are not valid.
wanted AS MATERIALIZED (
  SELECT w.label, w.kind, t.oid, t.name, t.relpages, x ->> 'ddl' AS ddl,
         ARRAY(SELECT a.attnum FROM jsonb_array_elements_text(x -> 'columns') WITH ORDINALITY AS k(name, n)
                 JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = k.name ORDER BY k.n) AS columns
    FROM workers w CROSS JOIN jsonb_array_elements(w.indexes) AS x
    JOIN tables t ON t.label = w.label AND t.name = x ->> 'table'
),
indexed AS (
  SELECT w.*, i.indexrelid, coalesce(i.indisvalid AND i.indisready, false) AS valid
    FROM wanted w
    LEFT JOIN pg_index i ON i.indrelid = w.oid
     AND (SELECT array_agg(k.attnum ORDER BY k.n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n) WHERE k.n <= cardinality(w.columns)) = w.columns
)
SELECT 'read_only_default' AS code, 'setting:' || r.scope AS id, NULL::float8 AS since,
       jsonb_build_object('scope', r.scope) AS evidence, l.labels AS affects, false AS suspected
  FROM (SELECT CASE WHEN s.setdatabase IS NULL THEN 'the server' ELSE 'the database ' || current_database() END AS scope
          FROM settings s
         WHERE s.name = 'default_transaction_read_only' AND s.setrole = 0 AND lower(s.value) IN ('on', 'true', 'yes', '1')) AS r
 CROSS JOIN labels l
 WHERE NOT pg_is_in_recovery()
UNION ALL
SELECT 'standby', 'server:standby', extract(epoch FROM now())::float8 - s.lag,
       jsonb_build_object('behind', coalesce(' Its data is from ' || date_trunc('second', now() - s.lag * interval '1 s') || '.', '')), l.labels, true
  FROM labels l CROSS JOIN standby_lag s WHERE pg_is_in_recovery()
UNION ALL
-- The history file of a timeline is written by the promotion that begins it. Like server.sql, this calls a function that
-- may be forbidden through ts_stat().
SELECT 'promoted', 'server:promotion', p.at,
       jsonb_build_object('what', format('This server was promoted at %s.', date_trunc('second', to_timestamp(p.at)))), l.labels, false
  FROM (SELECT CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_ls_waldir()', 'EXECUTE')
                    THEN (SELECT word FROM ts_stat($$
                           SELECT array_to_tsvector(ARRAY[extract(epoch FROM f.modification)::text])
                             FROM (SELECT w.modification FROM pg_ls_waldir() AS w WHERE w.name ~ '^[0-9A-F]{8}\.history$'
                                    ORDER BY w.name DESC LIMIT 1) AS f$$)) END::float8 AS at OFFSET 0) AS p
 CROSS JOIN labels l
 WHERE p.at > extract(epoch FROM clock_timestamp())::float8 - (:settings ->> 'promoted')::float8
UNION ALL
SELECT 'privilege_missing', 'role:' || j.rolname, NULL,
       jsonb_build_object('role', j.rolname, 'sessions', j.n, 'doing', j.doing,
         'lacks', string_agg(DISTINCT format('%s (%s of %s)', j.lacks, j.kind, j.label), '; ')),
       array_agg(DISTINCT j.label), bool_and(NOT j.sure OR j.others)
  FROM judged j WHERE j.lacks IS NOT NULL AND (j.live OR NOT j.others)
 GROUP BY j.rolname, j.n, j.doing
UNION ALL
SELECT 'queue_closed', 'table:' || u.label || '.' || u.name, NULL,
       jsonb_build_object('role', u.rolname, 'lacks', u.lacks, 'table', u.name, 'doing', u.doing), ARRAY[u.label], true
  FROM unread u
UNION ALL
SELECT 'rows_hidden', 'role:' || j.rolname, NULL,
       jsonb_build_object('role', j.rolname, 'sessions', j.n, 'doing', j.doing,
         'tables', string_agg(DISTINCT h.names || ' of ' || j.label, '; '),
         'policies', CASE WHEN bool_or(h.hard) THEN 'no policy admits it' ELSE 'policies: ' || string_agg(DISTINCT h.policies, ', ') END),
       array_agg(DISTINCT j.label), NOT bool_or(h.hard AND j.sure AND NOT j.others)
  FROM judged j JOIN hidden h ON (h.label, h.kind, h.role) = (j.label, j.kind, j.role)
 WHERE j.live OR h.hard AND NOT j.others
 GROUP BY j.rolname, j.n, j.doing
UNION ALL
SELECT 'role_setting', 'role:' || j.rolname, NULL,
       jsonb_build_object('scope', 'the role ' || j.rolname, 'role', j.rolname, 'sessions', j.n, 'doing', j.doing,
         'setting', string_agg(DISTINCT s.name || ' = ' || s.value, ' and '), 'effect', string_agg(DISTINCT s.effect, ' and ')),
       array_agg(DISTINCT j.label), NOT bool_or(s.hard AND j.sure AND NOT j.others)
  FROM judged j JOIN settled s ON (s.label, s.kind, s.role) = (j.label, j.kind, j.role)
 WHERE j.live OR NOT j.others
 GROUP BY j.rolname, j.n, j.doing
UNION ALL
SELECT 'role_setting', 'setting:' || s.scope, NULL,
       jsonb_build_object('scope', s.scope, 'setting', string_agg(h.name || ' = ' || h.value, ' and ' ORDER BY h.name),
         'effect', string_agg(h.effect, ' and ' ORDER BY h.name), 'doing', ''),
       l.labels, NOT bool_or(h.hard)
  FROM harmful h CROSS JOIN labels l
 CROSS JOIN LATERAL (SELECT CASE WHEN h.setdatabase IS NULL THEN 'the server' WHEN h.setdatabase = 0 THEN 'all roles'
                                 ELSE 'the database ' || current_database() END AS scope) AS s
 WHERE h.setrole = 0
 GROUP BY s.scope, l.labels
UNION ALL
SELECT 'role_kept_out', 'role:' || r.rolname, extract(epoch FROM r.rolvaliduntil)::float8,
       jsonb_build_object('role', r.rolname, 'why', w.why), w.labels, true
  FROM (SELECT f.role, array_agg(DISTINCT f.label) AS labels
          FROM fits f JOIN roles o ON o.oid = f.role
         WHERE f.held > 0 AND f.held * 2 >= f.writes
           -- An executor may hold no more than an operator. What ends logins of a role is done to those that work.
           AND ((f.label, f.role) NOT IN (TABLE operators) OR o.rolvaliduntil < now() OR NOT o.rolcanlogin)
           AND NOT EXISTS (SELECT FROM sound s WHERE (s.label, s.kind) = (f.label, f.kind))
         GROUP BY f.role) AS c
  JOIN roles r ON r.oid = c.role AND r.n = 0 AND NOT r.rolsuper
 CROSS JOIN LATERAL (
   SELECT c.labels, CASE
     WHEN r.rolvaliduntil < now() THEN format('its password expired at %s', date_trunc('second', r.rolvaliduntil))
     WHEN r.rolconnlimit = 0 THEN 'its connection limit is 0'
     WHEN NOT has_database_privilege(r.oid, current_database(), 'CONNECT') THEN format('it lacks CONNECT on the database %s', current_database())
     WHEN NOT r.rolcanlogin AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = r.oid) THEN 'it has no LOGIN' END AS why) AS w
 WHERE w.why IS NOT NULL
UNION ALL
SELECT CASE WHEN f.strength = 0 THEN 'foreign_objects' ELSE 'writes_refused' END, 'engine:' || f.label, NULL,
       jsonb_build_object('label', f.label, 'what', f.what,
         'why', CASE f.strength WHEN 2 THEN 'it replaces statements of the workers' ELSE 'it can make writes fail or wait' END),
       ARRAY[f.label], f.strength < 2
  FROM (SELECT o.label, max(o.strength) AS strength, string_agg(DISTINCT o.what, '; ') AS what
          FROM foreign_objects o GROUP BY o.label, o.strength > 0) AS f
 WHERE f.strength = 2 OR EXISTS (SELECT FROM likely k WHERE k.label = f.label AND k.live)
UNION ALL
SELECT 'trigger_disabled', 'trigger:' || t.label || '.' || g.tgname, NULL,
       jsonb_build_object('trigger', g.tgname, 'table', t.name, 'label', t.label), ARRAY[t.label], false
  FROM tables t JOIN objects o ON (o.label, o.oid, o.sort) = (t.label, t.oid, 'trigger') AND t.own -> 'objects' ? o.meaning
  JOIN pg_trigger g ON g.oid = o.id AND g.tgenabled IN ('D', 'R')
UNION ALL
SELECT 'unique_rule_missing', 'table:' || t.label || '.' || t.name, NULL,
       jsonb_build_object('label', t.label, 'table', t.name, 'rules', string_agg('(' || split_part(u.meaning, ': ', 2) || ')', ', ')), ARRAY[t.label], false
  FROM written t JOIN unique_rules u ON (u.label, u.oid, u.own) = (t.label, t.oid, true)
 WHERE t.oid NOT IN (TABLE exclusive)
   AND NOT EXISTS (SELECT FROM unique_rules o WHERE (o.label, o.oid, o.own) = (t.label, t.oid, false)
                      AND o.columns <@ u.columns AND o.predicate IN ('', u.predicate))
 GROUP BY t.label, t.name
UNION ALL
-- Rows are lost in a crash, or wrong ones come in; all else stops statements. A function is suspected: another may do the same.
SELECT CASE WHEN d.sort IN (1, 5) THEN 'relation_differs' ELSE 'schema_changed' END, 'table:' || d.label || '.' || d.name, NULL,
       jsonb_build_object('label', d.label, 'table', d.name, 'what', string_agg(d.what, '; ' ORDER BY d.sort, d.what)), ARRAY[d.label], bool_and(d.sort = 9)
  FROM differences d
 GROUP BY d.label, d.name, d.sort IN (1, 5)
UNION ALL
-- In a small table a scan is as fast, so there the missing index explains no symptom.
SELECT CASE WHEN i.relpages >= (:settings ->> 'large_pages')::float8 THEN 'dequeue_scan' ELSE 'index_missing' END, 'table:' || i.label || '.' || i.name, NULL,
       jsonb_build_object('label', i.label, 'table', i.name, 'kind', i.kind, 'ddl', i.ddl,
         'state', CASE WHEN bool_or(i.indexrelid IS NOT NULL) THEN 'is not valid (' || string_agg(DISTINCT i.indexrelid::regclass::text, ', ') || ')'
                       ELSE 'does not exist' END),
       ARRAY[i.label], false
  FROM indexed i
 GROUP BY i.label, i.kind, i.name, i.ddl, i.relpages, i.columns
HAVING NOT bool_or(i.valid)
UNION ALL
SELECT 'index_invalid', 'index:' || t.label || '.' || c.relname, NULL,
       jsonb_build_object('label', t.label, 'index', c.relname, 'table', t.name), ARRAY[t.label], false
  FROM tables t JOIN pg_index i ON i.indrelid = t.oid AND NOT (i.indisvalid AND i.indisready AND i.indislive) JOIN pg_class c ON c.oid = i.indexrelid
 WHERE c.relkind = 'i'
   AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index b WHERE b.index_relid = i.indexrelid)
   AND NOT EXISTS (SELECT FROM indexed x WHERE x.oid = t.oid AND NOT EXISTS (SELECT FROM indexed y WHERE (y.oid, y.columns) = (x.oid, x.columns) AND y.valid)
                      AND x.indexrelid = i.indexrelid)
