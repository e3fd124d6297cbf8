-- Find content that occurs more than once among the oldest rows. Compare as jsonb, so the order of keys does not matter.
-- Index: the start of queued_job_pkey.
(SELECT 'job:' || q.id AS id, q.since,
        jsonb_build_object('times', q.n, 'ids', array_to_string(q.ids[1:10], ', ') || CASE WHEN q.n > 10 THEN ' ...' ELSE '' END, 'kind',
\ir ../parts/kind.sql
       ) AS evidence,
        NOT q.locked AS suggest
   FROM (SELECT max(w.id) AS id, w.content, count(*) AS n, array_agg(w.id ORDER BY w.id) AS ids,
                (array_agg(w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL ORDER BY w.id DESC))[1] AS locked,
                extract(epoch FROM max(w.creation_time))::float8 AS since
           FROM (SELECT j.id, j.content, j.creation_time, j.lock_instance, j.lock_time FROM :"schema".queued_job j ORDER BY j.id LIMIT :head::int) AS w
          GROUP BY w.content
         HAVING count(*) > 1) AS q
  WHERE :ids IS NULL OR 'job:' || q.id = ANY (:ids)
  ORDER BY q.n DESC, q.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
