-- A newer job has a much lower number than an older one: the queue's counter began again, because Redis was emptied.
-- needs: by_created
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- Looks at the newest 2,000 jobs. That numbers pass each other by a little is usual: a row is written after the
-- enqueuing. Anew means from 1, so less than half of the number before tells.
SELECT 'job:' || r.id AS id, extract(epoch FROM r.created_at)::float8 AS since,
       jsonb_build_object('job_id', r.job_id, 'before', r.before::text, 'created_at', date_trunc('second', r.created_at)::text) AS evidence
  FROM (SELECT n.id, n.job_id, n.created_at, n.number, lag(n.number) OVER (ORDER BY n.created_at, n.number) AS before
          FROM (SELECT j.id, j.job_id, j.created_at, j.job_id::numeric AS number
                  FROM (SELECT id, job_id, created_at FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS j
                 WHERE j.job_id ~ '^[0-9]{1,18}$') AS n) AS r
 WHERE r.number * 2 < r.before AND r.before - r.number > 5
   AND ($1::text[] IS NULL OR 'job:' || r.id = ANY ($1::text[]))
 ORDER BY r.created_at DESC, r.id
 LIMIT $2::int
