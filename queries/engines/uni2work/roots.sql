-- List the three top nodes. Omit the buckets if the engine version has none.
-- $1 cursor text: last node of the previous page, or NULL
-- $2 page int: maximum number of rows
-- $3 met_needs text[]
SELECT b.id, b.id AS cursor
  FROM unnest(ARRAY['queue:all', 'crontab:all', 'buckets:all']) WITH ORDINALITY AS b(id, place)
 WHERE (b.id <> 'buckets:all' OR 'token_bucket' = ANY ($3::text[]))
   AND b.place > coalesce(array_position(ARRAY['queue:all', 'crontab:all', 'buckets:all'], $1::text), 0)
 ORDER BY b.place
 LIMIT $2::int
