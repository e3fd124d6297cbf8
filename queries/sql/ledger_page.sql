-- Entries, newest first; those about one node where its id is given.
-- $1 cursor text: the last id of the page before, or NULL
-- $2 page int
-- $3 id text: id of a node, or NULL
-- Indexes: ledger_pkey backwards; ledger_results_idx for one node.
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host, l.system, l.schema,
       l.verb, l.reason, l.arguments::text AS arguments, l.results::text AS results, l.changes::text AS changes
  FROM unstick.ledger l
 WHERE ($1::text IS NULL OR l.id < $1::text::bigint)
   AND ($3::text IS NULL OR l.results @> jsonb_build_array(jsonb_build_object('id', $3::text)))
 ORDER BY l.id DESC
 LIMIT $2::int
