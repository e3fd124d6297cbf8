-- The entry that this transaction has written, as the audit log keeps it, and whether it is as it was written. `changes` is the
-- digest of its rows.
-- args: the entry
-- Index: audit_log_pkey backwards; reads 1,000 entries.
SELECT l.id::text AS entry,
       (l.role, l.os_user, l.host, l.application, l.engine, l.schema, l.action, l.reason, l.arguments, l.results) IS NOT DISTINCT FROM
       (session_user::text, e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
        e -> 'arguments', e -> 'results') AS same,
       CASE WHEN pg_typeof(l.changes) = 'json'::regtype THEN encode(sha256(convert_to(l.changes::text, 'UTF8')), 'hex') END AS changes
  FROM (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 1000) AS l
 CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e)
 WHERE l.xid = pg_current_xact_id()
 ORDER BY l.id DESC LIMIT 1
