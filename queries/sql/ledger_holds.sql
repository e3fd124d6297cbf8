-- Whether the ledger has this entry among its newest: same transaction, verb, reason and person.
-- $1 id text: the transaction's id
-- $2 args jsonb: the entry
-- Index: ledger_pkey backwards; looks at 10,000 entries.
SELECT EXISTS (
  SELECT FROM (SELECT * FROM unstick.ledger ORDER BY id DESC LIMIT 10000) AS l
   WHERE l.xid = $1::text::xid8 AND l.verb = $2::text::jsonb ->> 'verb' AND l.reason = $2::text::jsonb ->> 'reason'
     AND l.os_user = $2::text::jsonb ->> 'os_user' AND l.host = $2::text::jsonb ->> 'host'
     AND l.results = $2::text::jsonb -> 'results') AS holds
