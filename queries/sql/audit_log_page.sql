-- Entries, newest first. With ids, only the entries about one node.
-- $1 cursor text: the last id of the previous page, or NULL
-- $2 page int
-- $3 ids text[]: the node's id with each form of its label, or NULL
-- $4 query text: the node's schema, because another schema may have a node with the same id
-- Indexes: audit_log_pkey backwards; audit_log_results_idx for one node.
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host, l.engine, l.schema,
       l.action, l.reason, l.arguments::text AS arguments, l.results::text AS results, l.changes::text AS changes
  FROM unstick.audit_log l
 WHERE ($1::text IS NULL OR l.id < $1::text::bigint)
   AND ($3::text[] IS NULL
        OR l.schema = $4::text
           AND l.results @> ANY (ARRAY(SELECT jsonb_build_array(jsonb_build_object('id', i)) FROM unnest($3::text[]) AS i)))
 ORDER BY l.id DESC
 LIMIT $2::int
