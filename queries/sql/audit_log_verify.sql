-- Entries in the order of their ids: each with its recorded hash, whether its content and its images still have their hashes, and
-- the problems of its place in the chain. Its content is read, too, but no rows of more than 64 kB.
-- links: the entries that it follows and that are not as it names them: id and code. `backdated` is about the entry itself.
-- next: "" if it is followed, "head" if no other follows it, or the id of the entry that should follow it and does not. That is the
-- first later one whose snapshot shows its transaction. An entry whose transaction ended after 50 later ones need not be followed.
-- cursor: the last id of the previous page, or NULL
-- {images}: audit_images_digest.sql; NULL if they cannot be read
-- Index: audit_log_pkey.
WITH
\ir parts/entries.sql
,
page AS MATERIALIZED (
  SELECT * FROM entries WHERE :cursor IS NULL OR id > :cursor::text::bigint ORDER BY id LIMIT :limit
)
SELECT l.id::text AS id, l.digest AS recorded, l.arguments::text AS arguments, l.results::text AS results,
       CASE WHEN octet_length(l.changes::text) <= 65536 THEN l.changes::text ELSE '[]' END AS changes,
       l.digest = l.hash AND coalesce({images}, l.images_digest) IS NOT DISTINCT FROM l.images_digest AS intact,
       ARRAY(SELECT split_part(h, ':', 1) || ' ' || CASE WHEN p.id IS NULL THEN 'removed' WHEN p.digest = split_part(h, ':', 2) THEN 'backdated' ELSE 'changed' END
               FROM unnest(l.previous) AS h
               LEFT JOIN unstick.audit_log p ON p.id = CASE WHEN h ~ '^[0-9]{1,18}:' THEN split_part(h, ':', 1)::bigint END
              WHERE l.digest IS NOT NULL AND (p.digest = split_part(h, ':', 2) AND p.at <= l.at + interval '60 s') IS NOT TRUE) AS links,
       CASE WHEN l.digest IS NULL OR f.follows THEN '' WHEN f.id IS NULL THEN 'head'
            WHEN f.n > 50 AND l.xid < pg_snapshot_xmax(f.before) THEN
              CASE WHEN EXISTS (SELECT FROM (SELECT w.previous FROM unstick.audit_log w WHERE w.id > f.id ORDER BY w.id LIMIT 50) AS w
                                 WHERE l.id || ':' || l.digest = ANY (w.previous)) THEN '' ELSE 'head' END
            WHEN f.complete THEN f.id::text ELSE '' END AS next
  FROM page l
  LEFT JOIN LATERAL (
       SELECT w.id, w.n, w.before, w.follows,
              NOT EXISTS (SELECT FROM unnest(w.previous) AS h
                           WHERE NOT EXISTS (SELECT FROM unstick.audit_log p
                                              WHERE p.id = CASE WHEN h ~ '^[0-9]{1,18}:' THEN split_part(h, ':', 1)::bigint END
                                                AND p.id < w.id AND p.digest = split_part(h, ':', 2))) AS complete
         FROM (SELECT o.id, o.previous, o.seen, o.digest, l.id || ':' || l.digest = ANY (o.previous) AS follows,
                      row_number() OVER (ORDER BY o.id) AS n, lag(o.seen) OVER (ORDER BY o.id) AS before
                 FROM (SELECT * FROM unstick.audit_log o WHERE o.id > l.id ORDER BY o.id LIMIT 51) AS o) AS w
        WHERE w.digest IS NOT NULL AND (w.follows OR w.n > 50 OR w.seen IS NULL OR pg_visible_in_snapshot(l.xid, w.seen))
        ORDER BY w.id LIMIT 1) AS f ON true
 ORDER BY l.id
