-- Number of jobs in each state, up to 10,000. Older versions of the engine have no state suspended.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id).
SELECT p.status, least(p.n, 10000) AS n, CASE WHEN p.n > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM (VALUES ('available', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'available' LIMIT 10001) AS o)),
               ('executing', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'executing' LIMIT 10001) AS o)),
               ('scheduled', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'scheduled' LIMIT 10001) AS o)),
               ('retryable', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'retryable' LIMIT 10001) AS o)),
               ('discarded', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'discarded' LIMIT 10001) AS o)),
               ('completed', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'completed' LIMIT 10001) AS o)),
               ('cancelled', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'cancelled' LIMIT 10001) AS o)),
               ('suspended', (SELECT count(*) FROM (SELECT FROM :"schema".oban_jobs j
                                        WHERE j.state = (SELECT s.state FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state) WHERE s.state::text = 'suspended')
                                        LIMIT 10001) AS o))) AS p(status, n)
