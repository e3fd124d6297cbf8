-- The places of the entries that the audit log lacks. After a failover an id may have been given to another entry.
-- args: the entries: id, xid, action, reason, and the id of the first node
-- Index: audit_log_pkey.
SELECT (e.place - 1)::int AS place
  FROM jsonb_array_elements(:args::text::jsonb) WITH ORDINALITY AS e(entry, place)
 WHERE NOT EXISTS (
       SELECT FROM unstick.audit_log l
        WHERE l.id = (e.entry ->> 'id')::bigint AND l.xid::text = e.entry ->> 'xid' AND l.action = e.entry ->> 'action'
          AND l.reason = e.entry ->> 'reason' AND l.results #>> '{0,id}' = e.entry ->> 'node')
 ORDER BY place
