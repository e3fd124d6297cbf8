-- True if the audit log has this entry: same transaction, action, reason and user. NULL if unknown, because all entries
-- that were read are newer, or because policies may hide it.
-- id: the transaction's id
-- args: the entry
-- Index: audit_log_pkey backwards; reads 10,000 entries.
WITH newest AS MATERIALIZED (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 10000)
SELECT CASE WHEN row_security_active('unstick.audit_log') THEN NULL
            WHEN EXISTS (
              SELECT FROM newest l
               WHERE l.xid = :id::text::xid8 AND l.action = :args::text::jsonb ->> 'action' AND l.reason = :args::text::jsonb ->> 'reason'
                 AND l.os_user = :args::text::jsonb ->> 'os_user' AND l.host = :args::text::jsonb ->> 'host'
                 AND l.results = :args::text::jsonb -> 'results') THEN true
            WHEN (SELECT count(*) = 10000 AND min(l.at) > to_timestamp((:args::text::jsonb ->> 'at')::float8) FROM newest l) THEN NULL
            ELSE false END AS holds
