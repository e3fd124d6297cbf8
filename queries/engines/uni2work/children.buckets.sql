-- List the token buckets.
-- kinds: buckets
-- $1 cursor text: last ident of the previous page, or NULL
-- $2 page int: maximum number of rows
-- needs: token_bucket
-- The table has only a few rows.
SELECT 'bucket:' || b.ident AS id, b.ident::text AS cursor
  FROM :"schema".token_bucket b
 WHERE $1::text IS NULL OR b.ident::text COLLATE "C" > $1::text COLLATE "C"
 ORDER BY b.ident::text COLLATE "C"
 LIMIT $2::int
