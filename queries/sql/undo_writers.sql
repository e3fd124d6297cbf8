-- Entries of the audit log that were written by these transactions, for the reason why a row is not as it was.
-- ids: 32-bit transaction ids of rows
-- Index: audit_log_pkey backwards; reads 1,000 entries.
SELECT mod(l.xid::text::numeric, 4294967296)::text AS xid, l.id::text AS entry, l.action, l.os_user || '@' || l.host AS who
  FROM (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 1000) AS l
 WHERE mod(l.xid::text::numeric, 4294967296)::text = ANY (:ids)
