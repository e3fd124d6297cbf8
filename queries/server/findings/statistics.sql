-- What the statistics say: dead rows that vacuum cannot remove, autovacuum, sequences, the NOTIFY queue, WAL that is kept,
-- deadlocks. These are counted by the server since its statistics began, so each read says the same of them. A database whose
-- counters were never reset has no time of its own: they began after those of the whole server.
-- A row `counters` is no finding: its numbers are compared with those of later reads. Rows are counted of the table that shows
-- an engine's work; not on a standby, where the counters rest.
-- args: engines: label, schema, tables, workers, flow of each; tools: the first is the console's application name
-- Indexes: pg_class_relname_nsp_index, pg_attrdef_adrelid_adnum_index, pg_depend_depender_index. Statistics of a table and
-- the last value of a sequence are read by oid.
WITH tables AS MATERIALIZED (
  SELECT e ->> 'label' AS label, c.oid, c.relname::text AS name, c.reloptions, c.relname = e ->> 'flow' AS flow, c.reltuples,
         pg_stat_get_dead_tuples(c.oid) AS dead, pg_stat_get_live_tuples(c.oid) AS live,
         greatest(pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid)) AS vacuumed
    FROM jsonb_array_elements(:args -> 'engines') AS e
    JOIN pg_namespace n ON n.nspname = e ->> 'schema'
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
     AND c.relname = ANY (ARRAY(SELECT jsonb_array_elements_text(e -> 'tables')))
),
labels AS (SELECT array_agg(DISTINCT t.label) AS labels FROM tables t),
activity AS MATERIALIZED (SELECT a.*, a.datname = current_database() AS here, a.pid = pg_backend_pid() AS own FROM pg_stat_activity a),
database AS MATERIALIZED (SELECT d.* FROM pg_stat_database d WHERE d.datname = current_database()),
bloated AS (
  SELECT array_agg(DISTINCT t.label) AS labels, string_agg(format('%s of %s (%s live)', t.dead, t.name, t.live), ', ' ORDER BY t.dead DESC) AS dead
    FROM tables t
   WHERE t.dead >= (:settings ->> 'dead_rows')::float8 AND t.dead >= t.live * (:settings ->> 'dead_share')::float8
),
-- For how long a transaction may be open: for less, while a table has many dead rows, more than live ones.
patience AS (
  SELECT make_interval(secs => (:settings ->> CASE WHEN EXISTS (SELECT FROM tables t WHERE t.dead >= (:settings ->> 'many_dead_rows')::float8 AND t.dead > t.live)
                                                   THEN 'older_than_dead' ELSE 'old_transaction' END)::float8) AS age
),
holders AS (
  SELECT 'backend:' || a.pid AS id, age(a.backend_xmin) AS xids, a.xact_start AS since, a.pid, a.backend_start,
         CASE WHEN a.backend_type = 'walsender'
              THEN format('A query on the standby %s (pid %s, role %s; hot_standby_feedback is on)', coalesce(nullif(a.application_name, ''), 'without a name'),
                          a.pid, coalesce(a.usename, '?'))
              ELSE format('pid %s (%s, role %s%s)', a.pid, coalesce(nullif(a.application_name, ''), a.backend_type), coalesce(a.usename, '?'), ', ' || a.state) END AS who
    FROM activity a
   WHERE a.backend_xmin IS NOT NULL AND NOT a.own AND a.backend_type <> 'autovacuum worker' AND (a.here OR a.backend_type = 'walsender')
     AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = a.pid)
     AND CASE WHEN a.backend_type = 'walsender' THEN age(a.backend_xmin) >= (:settings ->> 'old_xids')::float8 -- moves while it is connected
              ELSE clock_timestamp() - a.xact_start >= (SELECT p.age FROM patience p) END
  UNION ALL
  SELECT 'prepared:' || x.gid, age(x.transaction), x.prepared, NULL, NULL, 'the prepared transaction ' || x.gid
    FROM pg_prepared_xacts x
   WHERE x.database = current_database() AND clock_timestamp() - x.prepared >= (SELECT p.age FROM patience p)
  UNION ALL
  SELECT 'slot:' || s.slot_name, age(s.xmin), NULL, s.active_pid, NULL,
         format('The replication slot %s (%s)', s.slot_name,
                CASE WHEN s.active THEN 'its standby is connected and runs a long query' ELSE 'nothing is connected to it' END)
    FROM pg_replication_slots s WHERE age(s.xmin) >= (:settings ->> 'old_xids')::float8
),
sequences AS (
  SELECT DISTINCT t.label, t.name AS "table", s.oid, s.relname::text AS name,
         (SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = f.adnum) AS atttypid
    FROM tables t
    JOIN pg_attrdef f ON f.adrelid = t.oid
    JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
     AND d.refobjid <> t.oid -- each default depends on its own table, too
    JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S'
  UNION
  SELECT t.label, t.name, s.oid, s.relname::text, a.atttypid
    FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attidentity <> ''
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
     AND d.refobjsubid = a.attnum AND d.deptype = 'i'
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
),
used AS (
  SELECT q.*, v.last, m.most
    FROM sequences q JOIN pg_sequence p ON p.seqrelid = q.oid AND NOT p.seqcycle AND p.seqincrement > 0
   CROSS JOIN LATERAL (SELECT CASE WHEN has_sequence_privilege(q.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(q.oid) END AS last) AS v
   CROSS JOIN LATERAL (SELECT least(p.seqmax, CASE q.atttypid WHEN 'int4'::regtype THEN 2147483647 WHEN 'int2'::regtype THEN 32767 END) AS most) AS m
)
(SELECT 'vacuum_held_back' AS code, h.id, extract(epoch FROM h.since)::float8 AS since,
        jsonb_build_object('holder', h.who, 'pid', h.pid, 'backend_start', h.backend_start, 'dead', b.dead,
          'age', coalesce('for ' || date_trunc('second', clock_timestamp() - h.since), 'for ' || h.xids || ' transactions')) AS evidence,
        b.labels AS affects, false AS suspected
   FROM holders h JOIN bloated b ON b.dead IS NOT NULL
  ORDER BY h.xids DESC LIMIT 1)
UNION ALL
-- After a crash, a promotion or a reset the counts begin at 0, whatever is in the tables.
SELECT 'vacuum_late', NULL, NULL,
       jsonb_build_object('unread', format('statistics were lost in a crash or a reset, so dead rows of %s are not counted. ANALYZE counts them',
                                           string_agg(t.name || ' of ' || t.label, ', ' ORDER BY t.label, t.name))), NULL, false
  FROM tables t
 WHERE t.reltuples >= (:settings ->> 'dead_rows')::float8 AND (t.live + t.dead) * 10 < t.reltuples AND NOT pg_is_in_recovery()
HAVING count(*) > 0
UNION ALL
SELECT 'autovacuum_off', 'table:' || t.label || '.' || t.name, NULL,
       jsonb_build_object('label', t.label, 'table', t.name, 'scope', 'the table ' || t.name || ' of ' || t.label, 'dead', t.dead, 'live', t.live), ARRAY[t.label], false
  FROM tables t CROSS JOIN unnest(t.reloptions) AS o(setting)
 WHERE o.setting ~* '^autovacuum_enabled=(off|false|no|0|f)$'
UNION ALL
SELECT 'autovacuum_off', 'server:autovacuum', NULL,
       jsonb_build_object('scope', 'the server (' || s.name || ' = off)', 'live', (SELECT sum(t.live) FROM tables t), 'dead',
         (SELECT concat_ws(', most of them in ', sum(t.dead), (SELECT m.name || ' of ' || m.label FROM tables m WHERE m.dead > 0 ORDER BY m.dead DESC LIMIT 1)) FROM tables t)),
       l.labels, false
  FROM unnest('{autovacuum,track_counts}'::text[]) AS s(name) CROSS JOIN labels l WHERE current_setting(s.name) = 'off'
UNION ALL
SELECT 'vacuum_late', 'table:' || t.label || '.' || t.name, extract(epoch FROM t.vacuumed)::float8,
       jsonb_build_object('label', t.label, 'table', t.name, 'dead', t.dead, 'live', t.live,
         'last', coalesce('last at ' || date_trunc('second', t.vacuumed), 'never')), ARRAY[t.label], false
  FROM tables t
 WHERE t.dead >= (:settings ->> 'late_rows')::float8 AND t.dead > t.live
   AND coalesce(t.vacuumed, '-infinity') < now() - make_interval(secs => (:settings ->> 'vacuum_late')::float8)
   AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.relid = t.oid)
UNION ALL
SELECT CASE WHEN u.last >= u.most THEN 'sequence_used_up' ELSE 'sequence_end' END, 'sequence:' || u.label || '.' || u.name, NULL,
       jsonb_build_object('label', u.label, 'sequence', u.name, 'table', u."table", 'left', greatest(u.most - u.last, 0)),
       ARRAY[u.label], false
  FROM used u WHERE u.last >= u.most * (:settings ->> 'sequence_used')::numeric
UNION ALL
SELECT 'notify_queue', 'server:notify', NULL,
       jsonb_build_object('used', round((q.used * 100)::numeric)::text || ' %', 'oldest', coalesce(
         (SELECT format(': of all, the oldest is that of pid %s (%s, role %s), %s', a.pid, coalesce(nullif(a.application_name, ''), 'no name'), a.usename, a.state)
            FROM activity a WHERE a.here AND NOT a.own AND a.xact_start IS NOT NULL AND a.backend_type = 'client backend'
           ORDER BY a.xact_start LIMIT 1), '')),
       l.labels, q.used < (:settings ->> 'notify_full')::float8
  FROM (SELECT pg_notification_queue_usage() AS used OFFSET 0) AS q
 CROSS JOIN (SELECT array_agg(e ->> 'label') AS labels FROM jsonb_array_elements(:args -> 'engines') AS e
              WHERE EXISTS (SELECT FROM jsonb_array_elements(e -> 'workers') AS w WHERE w -> 'channels' <> '[]')) AS l
 WHERE l.labels IS NOT NULL AND q.used >= (:settings ->> 'notify_used')::float8
UNION ALL
-- What keeps WAL until the disk is full: a slot, or an archive command that fails.
(SELECT 'wal_kept', 'slot:' || s.slot_name, NULL,
        jsonb_build_object('holder', format('The replication slot %s (%s)', s.slot_name, CASE WHEN s.active THEN 'in use' ELSE 'nothing is connected to it' END),
          'kept', pg_size_pretty(s.bytes)), l.labels, false
   FROM (SELECT r.slot_name, r.active, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, r.restart_lsn) AS bytes
           FROM pg_replication_slots r WHERE r.wal_status IN ('reserved', 'extended', 'unreserved')) AS s
  CROSS JOIN labels l
  WHERE s.bytes >= (:settings ->> 'wal_kept')::float8
  ORDER BY s.bytes DESC LIMIT 1)
UNION ALL
SELECT 'wal_kept', 'server:archiver', extract(epoch FROM coalesce(a.last_archived_time, a.stats_reset))::float8,
       jsonb_build_object('holder', format('WAL archiving (%s failures, the last at %s)', a.failed_count, date_trunc('second', a.last_failed_time)),
         'kept', 'all WAL' || coalesce(' since ' || date_trunc('second', a.last_archived_time), '')), l.labels, false
  FROM pg_stat_archiver a CROSS JOIN labels l
 WHERE current_setting('archive_mode') <> 'off' AND a.last_failed_time > coalesce(a.last_archived_time, '-infinity')
   AND a.last_failed_time - coalesce(a.last_archived_time, a.stats_reset) >= make_interval(secs => (:settings ->> 'not_archived')::float8)
UNION ALL
SELECT 'deadlocks', 'server:deadlocks', extract(epoch FROM b.began)::float8,
       jsonb_build_object('n', d.deadlocks, 'began', date_trunc('second', b.began)::text, 'by', 'deadlocks',
         'rate', (SELECT CASE WHEN r.hourly >= 1 THEN round(r.hourly) || ' an hour' ELSE round(r.hourly * 24) || ' a day' END
                    FROM (SELECT d.deadlocks / b.hours AS hourly) AS r)), l.labels, false
  FROM database d CROSS JOIN labels l
 CROSS JOIN LATERAL (SELECT w.began, (greatest(extract(epoch FROM now() - w.began), 3600) / 3600)::numeric AS hours
                       FROM (SELECT coalesce(d.stats_reset, least(pg_stat_get_bgwriter_stat_reset_time(), a.stats_reset), pg_postmaster_start_time()) AS began
                               FROM pg_stat_archiver a) AS w) AS b
 WHERE d.deadlocks >= (:settings ->> 'deadlocks')::float8
   AND d.deadlocks >= b.hours / 24 * (:settings ->> 'deadlocks_a_day')::float8
UNION ALL
SELECT 'counters', NULL, NULL, jsonb_build_object('deadlocks', d.deadlocks, 'commits', d.xact_commit, 'rollbacks', d.xact_rollback,
         'consoles', (SELECT count(*) FROM activity a WHERE a.here AND a.application_name = :args #>> '{tools,0}'), 'reset', d.stats_reset, 'rows', r.rows), l.labels, false
  FROM database d CROSS JOIN labels l
 CROSS JOIN (SELECT coalesce(jsonb_object_agg(t.label, jsonb_build_object('inserted', pg_stat_get_tuples_inserted(t.oid), 'deleted', pg_stat_get_tuples_deleted(t.oid))), '{}') AS rows
               FROM tables t WHERE t.flow AND current_setting('track_counts')::bool AND NOT pg_is_in_recovery()) AS r
