-- Find jobs that were locked before they were created: the clocks of the two instances differ.
-- kinds: job
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Index: the start of queued_job_pkey.
SELECT 'job:' || q.id AS id, extract(epoch FROM q.creation_time)::float8 AS since,
       jsonb_build_object('created_at', date_trunc('second', q.creation_time)::text, 'creator', q.creation_instance::text,
         'lock_time', date_trunc('second', q.lock_time)::text, 'instance', coalesce(q.lock_instance::text, 'not recorded'),
         'by', CASE WHEN isfinite(q.creation_time) AND isfinite(q.lock_time) THEN date_trunc('second', q.creation_time - q.lock_time)::text ELSE 'ever' END) AS evidence
  FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT ($2::jsonb ->> 'head')::float8::int) AS q
 WHERE q.lock_time < q.creation_time - make_interval(secs => ($2::jsonb ->> 'ahead')::float8)
   AND ($1::text[] IS NULL OR 'job:' || q.id = ANY ($1::text[]))
 ORDER BY q.id
 LIMIT $3::int
