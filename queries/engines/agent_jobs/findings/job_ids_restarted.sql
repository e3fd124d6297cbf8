-- Jobs with a much lower job id than the job before them: the queue's counter restarted, because Redis was emptied.
-- needs: by_created
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 page int: maximum number of rows
-- Reads the newest 2,000 jobs. Small reversals are normal, because a row is written after the job is enqueued. A restarted
-- counter begins at 1, so only an id below half of the previous one is reported.
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
