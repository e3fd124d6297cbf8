-- Find content that occurs more than once among the oldest rows. Compare as jsonb, so the order of keys does not matter.
-- kinds: job
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Index: the start of queued_job_pkey.
(SELECT 'job:' || d.id AS id, d.since,
        jsonb_build_object('times', d.n, 'ids', array_to_string(d.ids[1:10], ', ') || CASE WHEN d.n > 10 THEN ' …' ELSE '' END) AS evidence,
        NOT d.locked AS suggest
   FROM (SELECT max(w.id) AS id, count(*) AS n, array_agg(w.id ORDER BY w.id) AS ids,
                (array_agg(w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL ORDER BY w.id DESC))[1] AS locked,
                extract(epoch FROM max(w.creation_time))::float8 AS since
           FROM (SELECT q.id, q.content, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int) AS w
          GROUP BY w.content
         HAVING count(*) > 1) AS d
  WHERE $1::text[] IS NULL OR 'job:' || d.id = ANY ($1::text[])
  ORDER BY d.n DESC, d.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'head')::float8::int)
