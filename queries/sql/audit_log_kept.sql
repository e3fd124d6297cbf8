-- The entry that this transaction has written, as the audit log keeps it.
-- Index: audit_log_pkey backwards; reads 1,000 entries.
\ir parts/audit_log_same.sql
  FROM (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 1000) AS l
 CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e)
 WHERE l.xid = pg_current_xact_id()
 ORDER BY l.id DESC
 LIMIT 1
