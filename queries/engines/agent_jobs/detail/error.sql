-- title: Error
-- kinds: job
-- $1 id text: local id
-- $2 bytes int: number of bytes to send
-- Index: jobs_pkey.
SELECT substring(convert_to(j.error, 'UTF8') FOR $2::int) AS payload, octet_length(j.error)::int8 AS size
  FROM :"schema".jobs j
 WHERE j.id = substr($1::text, 5)::uuid AND j.error IS NOT NULL
