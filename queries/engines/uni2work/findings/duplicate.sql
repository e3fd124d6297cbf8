-- Jobs whose content another one of the oldest rows has too: all of them but one, which is a locked job, or else the oldest.
-- Compare as jsonb, so the order of keys does not matter.
-- Index: the start of queued_job_pkey.
WITH head AS MATERIALIZED (
  SELECT j.id, j.content, j.creation_time, j.lock_instance IS NOT NULL OR j.lock_time IS NOT NULL AS locked
    FROM :"schema".queued_job j ORDER BY j.id LIMIT :head::int
),
equal AS MATERIALIZED (
  SELECT w.content, count(*) AS n, array_agg(w.id ORDER BY w.id) AS ids, (array_agg(w.id ORDER BY w.locked DESC, w.id))[1] AS kept
    FROM head w
   GROUP BY w.content
  HAVING count(*) > 1
)
(SELECT 'job:' || w.id AS id, extract(epoch FROM w.creation_time)::float8 AS since,
        jsonb_build_object('times', q.n, 'kept', q.kept, 'ids', array_to_string(q.ids[1:10], ', ') || CASE WHEN q.n > 10 THEN ' ...' ELSE '' END, 'kind',
\ir ../parts/kind.sql
       ) AS evidence,
        NOT w.locked AS suggest
   FROM equal q
  CROSS JOIN LATERAL unnest(q.ids) AS e(id)
   JOIN head w ON w.id = e.id AND w.id <> q.kept
  WHERE :ids IS NULL OR 'job:' || w.id = ANY (:ids)
  ORDER BY q.n DESC, w.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
