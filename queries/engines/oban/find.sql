-- Jobs by id, queues by name.
-- query: an id or a name
-- Indexes: oban_jobs_pkey; the one on oban_jobs(state, queue, priority, scheduled_at, id), in whose order the next name is read:
-- for the first row of a name PostgreSQL may scan the table, because it expects few other rows before it.
SELECT n.id AS id, 'id' AS matched
  FROM (SELECT 'job:' || j.id AS id FROM :"schema".oban_jobs j WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
        UNION ALL
        SELECT 'queue:' || :query
         WHERE EXISTS (SELECT FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
                        CROSS JOIN LATERAL (SELECT j.queue FROM :"schema".oban_jobs j WHERE j.state = s.state AND j.queue >= :query
                                             ORDER BY j.queue LIMIT 1) AS o
                        WHERE o.queue = :query)) AS n
 LIMIT :limit
