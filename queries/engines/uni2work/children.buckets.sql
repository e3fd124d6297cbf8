-- The token buckets.
-- kinds: buckets
-- $1 cursor text: the last ident of the page before, or NULL
-- $2 page int: how many at most
-- needs: token_bucket
-- The table holds a few rows.
SELECT 'bucket:' || b.ident AS id, b.ident::text AS cursor
  FROM :"schema".token_bucket b
 WHERE $1::text IS NULL OR b.ident::text COLLATE "C" > $1::text COLLATE "C"
 ORDER BY b.ident::text COLLATE "C"
 LIMIT $2::int
