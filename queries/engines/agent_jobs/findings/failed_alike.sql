-- Jobs that failed with the same error, if it has failed at least 5 jobs and half of the jobs that ended in the time.
-- Errors are compared without words that contain a digit, such as ids.
-- needs: by_created
-- Index: one on jobs(created_at): the newest 2,000 jobs.
SELECT 'job:' || f.id AS id, extract(epoch FROM f.completed_at)::float8 AS since,
       jsonb_build_object('error', left(f.error, 300), 'alike', f.alike, 'failed_at', date_trunc('second', f.completed_at)::text) AS evidence
  FROM (SELECT r.*, count(*) FILTER (WHERE r.failed) OVER (PARTITION BY r.alike) AS same, count(*) OVER () AS ended
          FROM (SELECT n.id, n.status, n.error, n.completed_at, n.status = 'failed' AND coalesce(n.error, '') NOT LIKE '% by operator %' AS failed,
                       left(regexp_replace(coalesce(left(n.error, 1000), ''), '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '', 'g'), 200) AS alike
                  FROM (SELECT id, status, error, completed_at FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS n
                 WHERE n.status IN ('completed', 'failed')
                   AND n.completed_at BETWEEN now() - :failed_alike AND now()) AS r) AS f
 WHERE f.failed AND f.same >= 5 AND f.same * 2 >= f.ended
   AND (:ids IS NULL OR 'job:' || f.id = ANY (:ids))
 ORDER BY f.completed_at, f.id
 LIMIT :page
