-- True if the audit log has this entry: same transaction, action, reason and user. NULL if unknown, because all entries
-- that were read are newer.
-- $1 id text: the transaction's id
-- $2 args jsonb: the entry
-- Index: audit_log_pkey backwards; reads 10,000 entries.
WITH newest AS MATERIALIZED (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 10000)
SELECT CASE WHEN EXISTS (
              SELECT FROM newest l
               WHERE l.xid = $1::text::xid8 AND l.action = $2::text::jsonb ->> 'action' AND l.reason = $2::text::jsonb ->> 'reason'
                 AND l.os_user = $2::text::jsonb ->> 'os_user' AND l.host = $2::text::jsonb ->> 'host'
                 AND l.results = $2::text::jsonb -> 'results') THEN true
            WHEN (SELECT count(*) = 10000 AND min(l.at) > to_timestamp(($2::text::jsonb ->> 'at')::float8) FROM newest l) THEN NULL
            ELSE false END AS holds
