-- The jobs of `asked`, which the including file has, with their times, from at most 100 events of each. A scheduled event
-- has the time of the schedule, not its own. A range in the order of the index: with job_id = j.id the planner may prefer
-- to scan the table until it has 100 rows. LEFT JOIN: where no time is used, no event is read.
times AS (
  SELECT j.*, e.*
    FROM asked j
    LEFT JOIN LATERAL (
         SELECT min(v.at) FILTER (WHERE v.type = 'deferred') AS created,
                CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type <> 'scheduled') END AS changed,
                CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type IN ('deferred', 'deferred_for_retry', 'retried')) END AS queued,
                CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type = 'started') END AS started
           FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x
                  WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id LIMIT 100) AS v) AS e ON true
)
