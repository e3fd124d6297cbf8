-- Restarts of the queue's counter among the newest 2,000 jobs, with the job that shows each, its time, and the number
-- before. `ended`: a job has ended since. `passed`: the last creation of a job that ended long before. The number of a
-- job falls below half of the one before; small reversals are normal, because a row is written after the job is
-- enqueued. If the numbers rise again in one step, to the one before or often, two queues write this table, and neither
-- restarted. Or a row with one of the numbers 1 to 50 was completed long after its creation and after a newer job: a new
-- job with that number completed the old row, and has no row of its own, unless the numbers go on rising after that: a
-- second queue counts its own.
restarts AS MATERIALIZED (
  WITH numbered AS MATERIALIZED (
    SELECT n.*, lag(n.number) OVER (ORDER BY n.created_at, n.number) AS before
      FROM (SELECT j.*, j.job_id::int8 AS number
              FROM (SELECT id, job_id, created_at, completed_at, error FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS j
             WHERE j.job_id ~ '^[0-9]{1,18}$') AS n
  ),
  reused AS MATERIALIZED (
    SELECT j.*, k.number
      FROM generate_series(1, 50) AS k(number)
     CROSS JOIN LATERAL (SELECT o.id, o.job_id, o.created_at, o.completed_at FROM :"schema".jobs o WHERE o.job_id = k.number::text LIMIT 1) AS j
     WHERE isfinite(j.created_at) AND isfinite(j.completed_at)
       AND j.completed_at - j.created_at > :completed_by_wrong_job
  ),
  dropped AS MATERIALIZED (
    SELECT r.id, r.job_id, r.created_at AS at, r.before, false AS reused
      FROM numbered r
     WHERE r.number * 2 < r.before AND r.before - r.number > 5
       AND NOT EXISTS (SELECT FROM numbered n WHERE n.created_at > r.created_at AND n.number > r.before AND n.before * 2 < n.number)
       AND (SELECT count(*) FROM numbered n WHERE n.number * 2 > r.before AND n.before * 2 < n.number) < 3
  )
  SELECT r.*, EXISTS (SELECT FROM numbered n WHERE n.completed_at >= r.at AND coalesce(n.error, '') NOT LIKE '% by operator %') AS ended,
         (SELECT max(n.created_at) FROM numbered n WHERE n.completed_at < r.at - :late AND coalesce(n.error, '') NOT LIKE '% by operator %') AS passed
    FROM (SELECT * FROM dropped
          UNION ALL
          (SELECT u.id, u.job_id, u.completed_at, n.number, true
             FROM reused u
            CROSS JOIN LATERAL (SELECT max(o.number) AS number FROM numbered o
                                 WHERE o.created_at > u.created_at AND o.completed_at < u.completed_at AND o.number > u.number + 50) AS n
            WHERE n.number IS NOT NULL AND NOT EXISTS (SELECT FROM dropped d WHERE d.at <= u.completed_at)
              AND NOT EXISTS (SELECT FROM numbered o WHERE o.created_at > u.completed_at AND o.number > n.number)
            ORDER BY u.completed_at, u.number
            LIMIT 1)) AS r
)
