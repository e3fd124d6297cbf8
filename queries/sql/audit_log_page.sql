-- Entries, newest first, that meet a filter. With ids, only the entries about one node.
-- cursor: the last id of the previous page, or NULL
-- ids: the node's id with each form of its label, or NULL
-- query: the node's schema, because another schema may have a node with the same id
-- args: the filter: who, since, action, target, outcome, entry; NULL is no condition; changes: read the rows, too
-- Without ids, the next 1,000 entries are looked at. If there may be more, the last row has no results, and its id is the
-- cursor of the rest. Entries are almost in the order of their times: 1,000 that are all too old end the search.
-- Indexes: audit_log_pkey backwards; audit_log_results_idx for one node.
WITH f AS MATERIALIZED (
  SELECT lower(g.f ->> 'who' COLLATE "C") AS who, to_timestamp((g.f ->> 'since')::float8) AS since, g.f ->> 'action' AS action, g.f ->> 'entry' AS entry,
         lower(g.f ->> 'target' COLLATE "C") AS target, g.f ->> 'outcome' AS outcome, (g.f ->> 'changes')::bool AS changes
    FROM (SELECT :args::text::jsonb AS f) AS g
),
part AS MATERIALIZED (
  SELECT l.* FROM unstick.audit_log l
   WHERE :ids IS NULL AND (:cursor IS NULL OR l.id < :cursor::text::bigint)
   ORDER BY l.id DESC LIMIT 1000
),
about AS (
  SELECT l.*
    FROM unnest(:ids) AS i
   CROSS JOIN LATERAL (
         SELECT o.* FROM unstick.audit_log o
          WHERE o.schema = :query AND o.results @> jsonb_build_array(jsonb_build_object('id', i))) AS l
   WHERE :cursor IS NULL OR l.id < :cursor::text::bigint
)
(SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host,
        l.engine, l.schema, l.action, l.reason, l.arguments::text AS arguments, l.results::text AS results, CASE WHEN f.changes THEN l.changes::text ELSE '[]' END AS changes
   FROM f CROSS JOIN (SELECT * FROM part UNION ALL SELECT * FROM about) AS l
  WHERE (f.who IS NULL OR strpos(lower(l.role COLLATE "C"), f.who) > 0 OR strpos(lower((l.os_user || '@' || l.host) COLLATE "C"), f.who) > 0)
    AND (f.since IS NULL OR l.at >= f.since)
    AND (f.action IS NULL OR l.action = f.action)
    AND (f.entry IS NULL OR l.id::text = f.entry)
    AND ((f.target IS NULL AND f.outcome IS NULL)
         OR EXISTS (SELECT FROM jsonb_path_query(l.results, '$[*]') AS r
                     WHERE (f.outcome IS NULL OR r ->> 'outcome' = f.outcome)
                       AND (f.target IS NULL OR strpos(lower(r ->> 'id' COLLATE "C"), f.target) > 0
                            OR strpos(lower(r ->> 'title' COLLATE "C"), f.target) > 0)))
  ORDER BY l.id DESC
  LIMIT :limit)
UNION ALL
SELECT min(p.id)::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM part p
HAVING count(*) = 1000 AND max(p.at) >= coalesce((SELECT since FROM f), '-infinity')
