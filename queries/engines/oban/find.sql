-- Jobs by id, queues by name.
-- query: an id or a name
-- Indexes: oban_jobs_pkey, the one on oban_jobs(state, queue, priority, scheduled_at, id).
SELECT n.id AS id, 'id' AS matched
  FROM (SELECT 'job:' || j.id AS id FROM :"schema".oban_jobs j WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
        UNION ALL
        SELECT 'queue:' || :query
         WHERE EXISTS (SELECT FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
                        CROSS JOIN LATERAL (SELECT FROM :"schema".oban_jobs j WHERE j.state = s.state AND j.queue = :query LIMIT 1) AS o)) AS n
 LIMIT :page
