-- What sessions do to the engines' tables: table locks, migrations that wait for one, idle transactions, COMMITs that wait
-- for a standby, advisory locks, and the number of connections. A row `worker_session` is no finding: it describes the
-- sessions of one role and application that may be workers of these engines. Nor is `row_waits`: sessions that use the tables and
-- wait long for a row; their blockers are read then.
-- A prepared transaction holds locks without a session. The activity of other roles is hidden without pg_monitor; such a
-- lock has no age, and a row without id says so. `root`: the end of a chain of sessions that wait for each other; its
-- pg_blocking_pids() are read for the three oldest waits only, because the function stops the server's lock manager for a moment.
-- args: engines: label, schema, tables of each; tools: patterns of application names that are no workers
-- Indexes: pg_class_relname_nsp_index; pg_locks, pg_stat_activity and pg_prepared_xacts are read once.
WITH RECURSIVE tables AS MATERIALIZED (
  SELECT e ->> 'label' AS label, c.oid, c.relname::text AS name
    FROM jsonb_array_elements(:args -> 'engines') AS e
    JOIN pg_namespace n ON n.nspname = e ->> 'schema'
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (ARRAY(SELECT jsonb_array_elements_text(e -> 'tables')))
),
held AS MATERIALIZED (
  SELECT l.* FROM pg_locks l
   WHERE l.locktype IN ('relation', 'transactionid', 'tuple', 'advisory') AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND (l.database IS NULL OR l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
),
sessions AS MATERIALIZED (
  SELECT a.pid, a.usesysid, a.usename, a.application_name, a.backend_start, a.xact_start, a.query_start, a.state, a.state_change,
         a.wait_event, a.query, a.query = '<insufficient privilege>' AS hidden, a.datname IS NOT DISTINCT FROM current_database() AS here,
         coalesce(a.backend_type, 'client backend') = 'client backend' AND a.usesysid IS NOT NULL AS client,
         coalesce(a.backend_type = 'walsender', false) AS sender,
         format('pid %s (%s, role %s)', a.pid, coalesce(nullif(a.application_name, ''), 'no name'), coalesce(a.usename, '?')) AS who
    FROM pg_stat_activity a
),
activity AS MATERIALIZED (SELECT s.* FROM sessions s WHERE s.pid <> pg_backend_pid()),
-- All connections that a limit counts, also this one. Those of standbys have slots of their own on the server.
clients AS MATERIALIZED (SELECT s.usesysid, s.usename, s.application_name, s.here, s.sender FROM sessions s WHERE s.client OR s.sender AND s.usesysid IS NOT NULL),
labels AS (SELECT array_agg(e ->> 'label') AS labels FROM jsonb_array_elements(:args -> 'engines') AS e),
locks AS MATERIALIZED (
  SELECT l.pid, l.virtualtransaction, l.mode, l.granted, l.waitstart, t.label, t.name,
         l.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock') AS strong
    FROM held l JOIN tables t ON t.oid = l.relation WHERE l.locktype = 'relation'
),
prepared AS (
  SELECT own.virtualtransaction, x.gid, x.prepared
    FROM held own JOIN pg_prepared_xacts x ON x.transaction = own.transactionid
   WHERE own.locktype = 'transactionid' AND own.pid IS NULL
),
lockers AS (
  SELECT l.pid, l.virtualtransaction, p.gid, array_agg(DISTINCT l.label) AS labels,
         string_agg(DISTINCT l.name, ', ') AS names,
         bool_or(l.mode = 'AccessExclusiveLock') AS whole,
         coalesce(a.xact_start, p.prepared) AS since, coalesce(a.hidden, false) AS hidden,
         coalesce('the prepared transaction ' || p.gid, a.who, format('pid %s (no name, role ?)', l.pid)) AS holder,
         a.state, a.state_change, a.usename, a.backend_start
    FROM locks l
    LEFT JOIN activity a ON a.pid = l.pid
    LEFT JOIN prepared p ON l.pid IS NULL AND p.virtualtransaction = l.virtualtransaction
   WHERE l.granted AND l.strong
     AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = l.pid)
   GROUP BY l.pid, l.virtualtransaction, p.gid, p.prepared, a.xact_start, a.hidden, a.who, a.usename, a.state, a.state_change, a.backend_start
),
queued AS MATERIALIZED (
  SELECT l.pid, min(l.waitstart) AS since, array_agg(DISTINCT l.label) AS labels, string_agg(DISTINCT l.name, ', ') AS names
    FROM locks l WHERE NOT l.granted AND l.strong GROUP BY l.pid
   ORDER BY min(l.waitstart) LIMIT 3
),
chain (start, pid, blocker) AS (
  SELECT s.pid, s.pid, b.pid
    FROM (SELECT q.pid FROM queued q
          UNION
          (SELECT h.pid FROM held h WHERE NOT h.granted AND h.pid IN (SELECT k.pid FROM lockers k) ORDER BY h.waitstart LIMIT 3)) AS s
   CROSS JOIN LATERAL unnest(pg_blocking_pids(s.pid)) AS b(pid)
  UNION
  SELECT c.start, c.blocker, b.pid FROM chain c CROSS JOIN LATERAL unnest(pg_blocking_pids(c.blocker)) AS b(pid)
),
-- For each start: who it waits for (direct), and the roots, which wait for nothing.
blockers AS (
  SELECT DISTINCT ON (c.start, p.gid, c.blocker) c.start, c.blocker AS pid, a.xact_start, bool_or(c.pid = c.start) OVER one AS direct,
         NOT EXISTS (SELECT FROM chain n WHERE n.start = c.start AND n.pid = c.blocker) AS root,
         CASE WHEN c.blocker = 0 THEN 'the prepared transaction ' || coalesce(p.gid, 'of another database')
              ELSE format('pid %s (%s, role %s%s)', c.blocker, coalesce(nullif(a.application_name, ''), 'no name'), coalesce(a.usename, '?'),
                          CASE WHEN a.state LIKE 'idle in%' THEN ', ' || a.state || ' since ' || date_trunc('second', a.state_change) END) END AS who
    FROM chain c
    LEFT JOIN activity a ON a.pid = c.blocker
    LEFT JOIN held w ON c.blocker = 0 AND w.pid = c.pid AND NOT w.granted
    LEFT JOIN held h ON h.pid IS NULL AND h.granted AND h.locktype = w.locktype AND h.relation IS NOT DISTINCT FROM w.relation
          AND h.transactionid IS NOT DISTINCT FROM w.transactionid
    LEFT JOIN prepared p ON p.virtualtransaction = h.virtualtransaction
  WINDOW one AS (PARTITION BY c.start, c.blocker)
),
behind AS (
  SELECT b.start, r.who AS root, bool_or(EXISTS (SELECT FROM lockers k WHERE k.pid = b.pid)) AS known,
         coalesce(', through ' || string_agg(b.who, ' and ' ORDER BY b.xact_start) FILTER (WHERE b.direct AND NOT b.root AND r.who IS NOT NULL), '') AS through
    FROM blockers b
   CROSS JOIN LATERAL (SELECT string_agg(o.who, ' and ' ORDER BY o.xact_start) AS who FROM blockers o WHERE o.start = b.start AND o.root) AS r
   GROUP BY b.start, r.who
)
SELECT 'table_locked' AS code, coalesce('backend:' || k.pid, 'prepared:' || k.gid) AS id,
       extract(epoch FROM k.since)::float8 AS since,
       jsonb_build_object('holder', k.holder, 'pid', k.pid, 'role', k.usename, 'backend_start', k.backend_start, 'tables', k.names,
         'age', coalesce(' for ' || date_trunc('second', clock_timestamp() - k.since), ''),
         'state', CASE WHEN k.state LIKE 'idle%' THEN format(' It is %s since %s.', k.state, date_trunc('second', k.state_change))
                       ELSE coalesce(' It waits for ' || b.root || b.through || '.', '') END,
         'root', coalesce(b.root, k.holder),
         'what', CASE WHEN k.whole THEN 'No session can read or change them' ELSE 'No session can change them' END,
         'waiting', (SELECT count(DISTINCT w.pid) FROM locks w WHERE NOT w.granted),
         'hidden', k.hidden) AS evidence,
       k.labels AS affects, false AS suspected
  FROM lockers k
  LEFT JOIN behind b ON b.start = k.pid
 WHERE coalesce(clock_timestamp() - k.since >= make_interval(secs => (:settings ->> 'table_locked')::float8), true)
UNION ALL
(SELECT 'lock_queue', 'backend:' || w.pid, extract(epoch FROM w.since)::float8,
        jsonb_build_object('waiter', coalesce(a.who, format('pid %s (no name, role ?)', w.pid)),
          'pid', w.pid, 'role', a.usename, 'backend_start', a.backend_start, 'tables', w.names,
          'age', coalesce(' for ' || date_trunc('second', clock_timestamp() - w.since), ''),
          'root', coalesce(b.root, 'a session that has just ended'), 'through', coalesce(b.through, ''), 'hidden', coalesce(a.hidden, false)),
        w.labels, false
   FROM queued w
   LEFT JOIN activity a ON a.pid = w.pid
   LEFT JOIN behind b ON b.start = w.pid
  WHERE clock_timestamp() - w.since >= make_interval(secs => (:settings ->> 'lock_queue')::float8)
    AND b.known IS NOT TRUE)
UNION ALL
-- Row locks of a transaction that does nothing. A short one is only suspected.
(SELECT 'idle_transaction', coalesce('backend:' || l.pid, 'prepared:' || p.gid), extract(epoch FROM coalesce(a.xact_start, p.prepared))::float8,
        jsonb_build_object('holder', coalesce(a.who, 'the prepared transaction ' || p.gid), 'pid', l.pid, 'role', a.usename, 'backend_start', a.backend_start,
          'tables', string_agg(DISTINCT l.name, ', '),
          'age', date_trunc('second', clock_timestamp() - coalesce(a.state_change, p.prepared))::text),
        array_agg(DISTINCT l.label),
        clock_timestamp() - coalesce(a.state_change, p.prepared) < make_interval(secs => (:settings ->> 'idle_transaction')::float8)
   FROM locks l
   LEFT JOIN activity a ON a.pid = l.pid
   LEFT JOIN prepared p ON l.pid IS NULL AND p.virtualtransaction = l.virtualtransaction
  WHERE l.granted AND NOT l.strong AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
    AND (a.state LIKE 'idle in%' OR p.gid IS NOT NULL)
    AND clock_timestamp() - coalesce(a.state_change, p.prepared) >= make_interval(secs => (:settings ->> 'idle_suspected')::float8)
    AND NOT EXISTS (SELECT FROM lockers k WHERE k.virtualtransaction = l.virtualtransaction)
  GROUP BY l.pid, p.gid, p.prepared, a.who, a.usename, a.backend_start, a.xact_start, a.state_change
  ORDER BY 3 LIMIT 5)
UNION ALL
SELECT 'commit_waits', 'server:synchronous_standby_names', extract(epoch FROM w.since)::float8,
       jsonb_build_object('n', w.n, 'names', current_setting('synchronous_standby_names'), 'since', date_trunc('second', w.since)::text,
         'role', w.roles),
       l.labels, false
  FROM (SELECT count(*) AS n, min(a.query_start) AS since, string_agg(DISTINCT a.usename::text, ', ') AS roles
          FROM activity a WHERE a.here AND a.wait_event = 'SyncRep') AS w CROSS JOIN labels l
 WHERE w.n > 0 AND w.since <= clock_timestamp() - make_interval(secs => (:settings ->> 'commit_waits')::float8)
UNION ALL
(SELECT 'advisory_lock', 'backend:' || h.pid, extract(epoch FROM h.since)::float8,
        jsonb_build_object('holder', a.who, 'pid', h.pid, 'role', a.usename, 'backend_start', a.backend_start, 'keys', h.keys,
          'state', coalesce(a.state || ' since ' || date_trunc('second', a.state_change), 'in an unknown state'), 'waiting', h.n)
        || CASE WHEN h.n > 0 THEN jsonb_build_object('blocker', h.pid) ELSE '{}' END,
        l.labels, h.n = 0
   FROM (SELECT h.pid, count(DISTINCT w.pid) AS n, min(w.waitstart) AS since, -- of its effect: when it was taken is not recorded
                (array_agg(CASE WHEN h.objsubid = 1 THEN ((h.classid::int8 << 32) | h.objid::int8)::text
                                ELSE format('(%s, %s)', h.classid, h.objid) END ORDER BY w.pid IS NULL))[1] AS keys
           FROM held h
           LEFT JOIN held w ON w.locktype = 'advisory' AND NOT w.granted AND (w.classid, w.objid, w.objsubid) = (h.classid, h.objid, h.objsubid)
                AND clock_timestamp() - w.waitstart >= make_interval(secs => (:settings ->> 'lock_queue')::float8)
          WHERE h.locktype = 'advisory' AND h.granted GROUP BY h.pid) AS h
   JOIN activity a ON a.pid = h.pid
  CROSS JOIN labels l
  WHERE h.n > 0
     OR a.state LIKE 'idle%' AND clock_timestamp() - a.state_change >= make_interval(secs => (:settings ->> 'advisory_idle')::float8)
  ORDER BY h.n DESC, a.state_change LIMIT 3)
UNION ALL
-- A limit that connections reach, with those who hold most of them.
SELECT 'connections_used', u.id, NULL,
       jsonb_build_object('scope', u.scope, 'used', u.used, 'limit', u.most, 'holders', h.holders,
                          'reserved', CASE WHEN u.reserved > 0 THEN format(', without %s that are reserved', u.reserved) ELSE '' END),
       l.labels, u.suspected
  FROM (SELECT 'server:connections' AS id, 'the server' AS scope, current_setting('max_connections')::int - r.n AS most, r.n AS reserved,
               (SELECT count(*) FROM clients c WHERE NOT c.sender) AS used, NULL::oid AS role, false AS here, false AS suspected
          FROM (SELECT current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0) AS n) AS r
        UNION ALL
        SELECT 'server:database', 'the database ' || d.datname, d.datconnlimit, 0, (SELECT count(*) FROM clients c WHERE c.here), NULL, true, true
          FROM pg_database d WHERE d.datname = current_database() AND d.datconnlimit >= 0
        UNION ALL
        SELECT 'role:' || r.rolname, 'the role ' || r.rolname, r.rolconnlimit, 0, count(*), r.oid, false, true
          FROM clients c JOIN pg_roles r ON r.oid = c.usesysid AND r.rolconnlimit >= 0 AND NOT r.rolsuper
         GROUP BY r.oid, r.rolname, r.rolconnlimit) AS u
 CROSS JOIN labels l
 CROSS JOIN LATERAL (
       SELECT string_agg(g.n || ' by ' || g.who, ', ' ORDER BY g.place) FILTER (WHERE g.place <= 3)
              || coalesce(', ' || sum(g.n) FILTER (WHERE g.place > 3) || ' by others', '') AS holders
         FROM (SELECT count(*) AS n, format('role %s (%s)', coalesce(c.usename, '?'), coalesce(nullif(c.application_name, ''), 'no name')) AS who,
                      row_number() OVER (ORDER BY count(*) DESC, c.usename, c.application_name) AS place
                 FROM clients c
                WHERE CASE WHEN u.role IS NOT NULL THEN c.usesysid = u.role WHEN u.here THEN c.here ELSE NOT c.sender END
                GROUP BY c.usename, c.application_name) AS g) AS h
 WHERE u.used >= u.most * CASE WHEN u.suspected THEN 1 ELSE (:settings ->> 'connections')::float8 END
UNION ALL
(SELECT 'worker_session', r.usename || '/' || r.application_name, NULL,
        jsonb_build_object('role', r.usename, 'application', r.application_name, 'n', r.n, 'state', r.state, 'since', r.since, 'wait', r.wait, 'began', r.began),
        r.labels, false
   FROM (SELECT s.usename, s.application_name, s.n, s.newest[1][1] AS state, s.newest[1][2]::float8 AS since, s.newest[1][3] AS wait, s.began,
                ARRAY(SELECT DISTINCT t.label FROM tables t
                       WHERE s.application_name ILIKE '%' || t.label || '%'
                          OR NOT EXISTS (SELECT FROM tables o WHERE s.application_name ILIKE '%' || o.label || '%')
                             AND (s.queries ~* ('\m(FROM|UPDATE|INTO|JOIN)\s+("?\w+"?\.)?"?' || t.name || '\M')
                                  OR NOT s.rolsuper AND has_table_privilege(s.usesysid, t.oid, 'INSERT, UPDATE, DELETE'))) AS labels
           FROM (SELECT a.usename, a.usesysid, a.application_name, o.rolsuper, count(*) AS n, extract(epoch FROM max(a.backend_start))::float8 AS began,
                        array_agg(ARRAY[a.state, extract(epoch FROM a.state_change)::text, CASE WHEN a.state = 'active' THEN a.wait_event END]
                                  ORDER BY a.state_change DESC NULLS LAST) AS newest,
                        string_agg(left(a.query, 2000), ' ') AS queries
                   FROM activity a JOIN pg_roles o ON o.oid = a.usesysid
                  WHERE a.here AND a.client AND NOT lower(a.application_name) LIKE ANY (ARRAY(SELECT jsonb_array_elements_text(:args -> 'tools')))
                  GROUP BY a.usename, a.usesysid, a.application_name, o.rolsuper LIMIT 50) AS s) AS r
  WHERE r.labels <> '{}')
UNION ALL
SELECT 'row_waits', 'server:rows', NULL, jsonb_build_object('n', count(DISTINCT w.pid)), '{}', false
  FROM held w
 WHERE NOT w.granted AND w.locktype IN ('transactionid', 'tuple')
   AND clock_timestamp() - w.waitstart >= make_interval(secs => (:settings ->> 'session_waits')::float8)
   AND w.pid IN (SELECT u.pid FROM locks u WHERE u.granted AND u.mode <> 'AccessShareLock')
UNION ALL
SELECT 'idle_transaction', NULL, NULL,
       jsonb_build_object('unread', format('what %s sessions do is hidden from the role %s: GRANT pg_monitor TO %s', count(*), current_user, quote_ident(current_user))),
       NULL, false
  FROM activity a WHERE a.here AND a.client AND a.hidden HAVING count(*) > 0
