-- Write one entry, in the transaction of the action.
-- $1 args jsonb: the entry
-- $2 changes json: the rows before and after; they are most of the entry, and are not parsed here
INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes)
SELECT e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
       e -> 'arguments', e -> 'results', $2::json
  FROM (SELECT $1::text::jsonb OFFSET 0) AS given(e) -- OFFSET 0: parsed once, not once per column
