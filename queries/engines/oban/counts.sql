-- Number of jobs in each state, up to 10,000. Older versions of the engine have no state suspended.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), in whose order the jobs of a state are counted: a scan of
-- the table may read those of other states first.
SELECT p.status, least(p.n, 10000) AS n, CASE WHEN p.n > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM (VALUES ('available', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'available' ORDER BY j.queue LIMIT 10001) AS o)),
               ('executing', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'executing' ORDER BY j.queue LIMIT 10001) AS o)),
               ('scheduled', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'scheduled' ORDER BY j.queue LIMIT 10001) AS o)),
               ('retryable', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'retryable' ORDER BY j.queue LIMIT 10001) AS o)),
               ('discarded', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'discarded' ORDER BY j.queue LIMIT 10001) AS o)),
               ('completed', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'completed' ORDER BY j.queue LIMIT 10001) AS o)),
               ('cancelled', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'cancelled' ORDER BY j.queue LIMIT 10001) AS o)),
               ('suspended', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j
                                        WHERE j.state = (SELECT s.state FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state) WHERE s.state::text = 'suspended')
                                        ORDER BY j.queue LIMIT 10001) AS o))) AS p(status, n)
