-- Rows of the audit log that this session has written, by table, for a role that may not read it. No row if the server does not count.
-- Index: pg_class_relname_nsp_index.
SELECT c.relname::text AS name, pg_stat_get_xact_tuples_inserted(c.oid) AS inserted, pg_stat_get_xact_tuples_updated(c.oid) AS updated,
       pg_stat_get_xact_tuples_deleted(c.oid) AS deleted
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'unstick' AND c.relname IN ('audit_log', 'audit_images') AND current_setting('track_counts') = 'on'
 ORDER BY 1
