-- Write one entry without images, in the transaction of the action.
-- args: the entry
-- changes: the rows before and after; they are most of the entry, and are not parsed here
INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes)
SELECT e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
       e -> 'arguments', e -> 'results', :changes::text::json
  FROM (SELECT :args::text::jsonb OFFSET 0) AS given(e) -- OFFSET 0: parsed once, not once per column
