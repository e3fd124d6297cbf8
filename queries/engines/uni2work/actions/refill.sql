-- Set a token bucket to a value. The operator types it, because the bucket's maximum is not in the database. Never
-- lower the value, and never write a time in the future, because the application would compute a negative interval.
-- Index: token_bucket_pkey; the table holds a few rows.

-- :lock
SELECT 'bucket:' || b.ident AS id, b.last_value || '@' || b.last_access || ':' || b.xmin AS version
  FROM :"schema".token_bucket b
 WHERE b.ident::text = ANY (:bucket_keys)
 ORDER BY b.ident
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'bucket:' || b.ident AS id,
               CASE WHEN coalesce(:args ->> 'value', '') !~ '^-?[0-9]{1,19}$' THEN 'the new value must be a whole number'
                    WHEN (:args ->> 'value')::numeric > 9223372036854775807 THEN 'the new value is larger than the column allows'
                    WHEN (:args ->> 'value')::numeric < b.last_value THEN 'the bucket already has ' || b.last_value || '. A refill cannot lower it'
               END AS why
          FROM :"schema".token_bucket b
         WHERE b.ident::text = ANY (:bucket_keys)) AS r
 WHERE r.why IS NOT NULL

-- :change
-- needs: token_bucket
UPDATE :"schema".token_bucket b SET last_value = (:args ->> 'value')::int8, last_access = now()
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE b.ident::text = substr(seen.id, 8)
   AND b.last_value || '@' || b.last_access || ':' || b.xmin = seen.version
   AND (:args ->> 'value')::int8 >= b.last_value
RETURNING 'bucket:' || b.ident AS id
