-- Executing jobs whose producer is silent or no longer registered. Without ids, 2,000 executing jobs are checked. Just after a
-- start of the server a producer that is not registered is not judged: after a crash it registers again.
-- needs: producers
-- Indexes: the one on oban_jobs(state, queue, priority, scheduled_at, id), oban_jobs_pkey.
WITH \ir ../parts/executing_jobs.sql
, \ir ../parts/started.sql
, \ir ../parts/producer.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM coalesce(p.updated_at, j.attempted_at))::float8 AS since,
        jsonb_build_object('owner', coalesce(j.attempted_by[1], 'an unknown node'), 'taken', date_trunc('second', j.attempted_at)::text,
          'seen', date_trunc('second', coalesce(p.updated_at, j.attempted_at))::text, 'queue', j.queue, 'producer', j.attempted_by[2], 'taken_early', CASE WHEN isfinite(j.inserted_at) AND isfinite(j.attempted_at) THEN extract(epoch FROM j.inserted_at - j.attempted_at)::float8 END,
          'sign', CASE WHEN p.id IS NULL THEN 'not registered any more' ELSE 'silent since ' || date_trunc('second', p.updated_at) || ' UTC' END) AS evidence
   FROM executing j LEFT JOIN producer p ON p.id = j.id
  WHERE p.updated_at < timezone('UTC', now()) - :alive
     OR p.id IS NULL AND NOT EXISTS (SELECT FROM started)
  ORDER BY j.attempted_at, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM executing) > 2000
UNION ALL
SELECT NULL, NULL, jsonb_build_object('why', u.why) FROM started u
 WHERE EXISTS (SELECT FROM executing j LEFT JOIN producer p ON p.id = j.id WHERE p.id IS NULL)
