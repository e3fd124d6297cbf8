-- One entry, in the transaction of what it tells.
-- $1 args jsonb: the entry
-- $2 changes json: its rows before and after; they are most of it, and need no looking into
INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes)
SELECT e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
       e -> 'arguments', e -> 'results', $2::json
  FROM (SELECT $1::text::jsonb OFFSET 0) AS given(e) -- parsed once, not once for each column
