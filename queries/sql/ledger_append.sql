-- One entry, in the transaction of what it tells. Gives the transaction's id.
-- $1 args jsonb: the entry
INSERT INTO unstick.ledger (os_user, host, application, system, schema, verb, reason, arguments, results, changes)
SELECT e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'system', e ->> 'schema', e ->> 'verb', e ->> 'reason',
       e -> 'arguments', e -> 'results', e -> 'changes'
  FROM (SELECT $1::text::jsonb OFFSET 0) AS given(e) -- parsed once, not once for each column
