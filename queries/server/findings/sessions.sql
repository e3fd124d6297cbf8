-- What sessions do to the engines' tables: table locks, and migrations that wait for one.
-- A prepared transaction holds locks without a session. The activity of other roles is hidden without pg_monitor; such a
-- lock has no age.
-- $1 args jsonb: engines: label, schema, tables of each
-- $2 settings jsonb
-- Indexes: pg_class_relname_nsp_index; pg_locks, pg_stat_activity and pg_prepared_xacts are read once.
WITH tables AS MATERIALIZED (
  SELECT e ->> 'label' AS label, c.oid, c.relname::text AS name
    FROM jsonb_array_elements($1::jsonb -> 'engines') AS e
    JOIN pg_namespace n ON n.nspname = e ->> 'schema'
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (ARRAY(SELECT jsonb_array_elements_text(e -> 'tables')))
),
held AS MATERIALIZED (
  SELECT l.* FROM pg_locks l
   WHERE l.locktype IN ('relation', 'transactionid') AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND (l.database IS NULL OR l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
),
activity AS MATERIALIZED (
  SELECT a.*, a.query = '<insufficient privilege>' AS hidden FROM pg_stat_activity a
),
locks AS MATERIALIZED (
  SELECT l.pid, l.virtualtransaction, l.mode, l.granted, l.waitstart, t.label, t.name,
         l.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock') AS strong
    FROM held l JOIN tables t ON t.oid = l.relation WHERE l.locktype = 'relation'
),
prepared AS (
  SELECT own.virtualtransaction, x.gid, x.prepared, x.owner
    FROM held own JOIN pg_prepared_xacts x ON x.transaction = own.transactionid
   WHERE own.locktype = 'transactionid' AND own.pid IS NULL
),
lockers AS (
  SELECT l.pid, l.virtualtransaction, p.gid, array_agg(DISTINCT l.label) AS labels,
         string_agg(DISTINCT l.name, ', ') AS names,
         bool_or(l.mode = 'AccessExclusiveLock') AS whole,
         coalesce(a.xact_start, p.prepared) AS since, coalesce(a.hidden, false) AS hidden,
         coalesce('the prepared transaction ' || p.gid,
                  format('pid %s (%s, role %s)', l.pid, coalesce(nullif(a.application_name, ''), 'no name'), coalesce(a.usename, '?'))) AS holder,
         a.state, a.state_change, a.usename, a.application_name, a.backend_start
    FROM locks l
    LEFT JOIN activity a ON a.pid = l.pid
    LEFT JOIN prepared p ON l.pid IS NULL AND p.virtualtransaction = l.virtualtransaction
   WHERE l.granted AND l.strong
     AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = l.pid)
   GROUP BY l.pid, l.virtualtransaction, p.gid, p.prepared, a.xact_start, a.hidden, a.application_name, a.usename, a.state,
            a.state_change, a.backend_start
)
SELECT 'table_locked' AS code, coalesce('backend:' || k.pid, 'prepared:' || k.gid) AS id,
       extract(epoch FROM k.since)::float8 AS since,
       jsonb_build_object('holder', k.holder, 'pid', k.pid, 'role', k.usename, 'backend_start', k.backend_start, 'tables', k.names,
         'age', coalesce(' for ' || date_trunc('second', clock_timestamp() - k.since), ''),
         'state', CASE WHEN k.state LIKE 'idle%' THEN format(' It is %s since %s.', k.state, date_trunc('second', k.state_change)) ELSE '' END,
         'what', CASE WHEN k.whole THEN 'No session can read or change them' ELSE 'No session can change them' END,
         'waiting', (SELECT count(DISTINCT w.pid) FROM locks w WHERE NOT w.granted),
         'hidden', k.hidden) AS evidence,
       k.labels AS affects, false AS suspected
  FROM lockers k
 WHERE coalesce(clock_timestamp() - k.since >= make_interval(secs => ($2::jsonb ->> 'table_locked')::float8), true)
UNION ALL
(SELECT 'lock_queue', 'backend:' || w.pid, extract(epoch FROM w.since)::float8,
        jsonb_build_object('waiter', format('pid %s (%s, role %s)', w.pid, coalesce(nullif(a.application_name, ''), 'no name'), coalesce(a.usename, '?')),
          'pid', w.pid, 'role', a.usename, 'backend_start', a.backend_start, 'tables', w.names,
          'age', coalesce(' for ' || date_trunc('second', clock_timestamp() - w.since), ''),
          'behind', coalesce(b.who, 'a session that has just ended'), 'hidden', coalesce(a.hidden, false)),
        w.labels, false
   FROM (SELECT l.pid, min(l.waitstart) AS since, array_agg(DISTINCT l.label) AS labels, string_agg(DISTINCT l.name, ', ') AS names
           FROM locks l WHERE NOT l.granted AND l.strong GROUP BY l.pid
          ORDER BY min(l.waitstart) LIMIT 3) AS w
   LEFT JOIN activity a ON a.pid = w.pid
  CROSS JOIN LATERAL (
    SELECT string_agg(CASE WHEN p.pid = 0 THEN 'a prepared transaction'
                           ELSE format('pid %s (%s, role %s%s)', p.pid, coalesce(nullif(s.application_name, ''), 'no name'), coalesce(s.usename, '?'),
                                       CASE WHEN s.state LIKE 'idle in%' THEN ', ' || s.state || ' since ' || date_trunc('second', s.state_change) END) END,
                      ' and ' ORDER BY s.xact_start) AS who,
           bool_or(EXISTS (SELECT FROM lockers k WHERE k.pid = p.pid)) AS known
      FROM (SELECT DISTINCT u.pid FROM unnest(pg_blocking_pids(w.pid)) AS u(pid)) AS p LEFT JOIN activity s ON s.pid = p.pid) AS b
  WHERE clock_timestamp() - w.since >= make_interval(secs => ($2::jsonb ->> 'lock_queue')::float8)
    AND b.known IS NOT TRUE)
