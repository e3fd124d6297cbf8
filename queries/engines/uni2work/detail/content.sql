-- title: Content
-- kinds: job
-- $1 id text: local id
-- $2 bytes int: maximum number of bytes to return
-- Index: queued_job_pkey.
SELECT substring(convert_to(q.content::text, 'UTF8') FOR $2::int) AS payload, octet_length(q.content::text)::int8 AS size
  FROM :"schema".queued_job q
 WHERE q.id = substr($1::text, 5)::int8
