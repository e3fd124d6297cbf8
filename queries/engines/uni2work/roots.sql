-- List the three top nodes. Omit the buckets if the engine version has none.
SELECT b.id, b.id AS cursor
  FROM unnest(ARRAY['queue:all', 'crontab:all', 'buckets:all']) WITH ORDINALITY AS b(id, place)
 WHERE (b.id <> 'buckets:all' OR 'token_bucket' = ANY (:met_needs))
   AND b.place > coalesce(array_position(ARRAY['queue:all', 'crontab:all', 'buckets:all'], :cursor), 0)
 ORDER BY b.place
 LIMIT :limit
