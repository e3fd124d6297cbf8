-- The newest entry of this transaction, and whether it is as it was written. `changes` is the digest of its rows.
-- args: the entry
SELECT l.id::text AS entry,
       (l.role, l.os_user, l.host, l.application, l.engine, l.schema, l.action, l.reason, l.arguments, l.results) IS NOT DISTINCT FROM
       (session_user::text, e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
        e -> 'arguments', e -> 'results') AS same,
       CASE WHEN pg_typeof(l.changes) = 'json'::regtype THEN encode(sha256(convert_to(l.changes::text, 'UTF8')), 'hex') END AS changes
