-- Who owns the work: an executor that polls this table, or a queue in Redis of which the table is a mirror. Where it is
-- a mirror, nothing ever writes `active`, `delayed`, `paused` or started_at.
-- needs: by_user
-- Looks for those statuses user by user in the index, for 500 users, and at each one's newest finished jobs for
-- a started_at.
WITH RECURSIVE
\ir parts/users.sql
, sign AS (
  SELECT CASE WHEN EXISTS (SELECT FROM users u, LATERAL (SELECT FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'active' LIMIT 1) AS o) THEN 'there are active jobs'
              WHEN EXISTS (SELECT FROM users u, LATERAL (SELECT FROM :"schema".jobs j WHERE u.last >= 'delayed' AND j.user_id = u.user_id AND j.status = 'delayed' LIMIT 1) AS o) THEN 'there are delayed jobs'
              WHEN EXISTS (SELECT FROM users u, LATERAL (SELECT FROM :"schema".jobs j WHERE u.last >= 'paused' AND j.user_id = u.user_id AND j.status = 'paused' LIMIT 1) AS o) THEN 'there are paused jobs'
              WHEN EXISTS (SELECT FROM users u
                            CROSS JOIN LATERAL ((SELECT j.started_at FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 3)
                                                UNION ALL
                                                (SELECT j.started_at FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 3)) AS l
                            WHERE l.started_at IS NOT NULL) THEN 'jobs have a started_at' END AS seen
)
SELECT 'profile' AS name, CASE WHEN s.seen IS NULL THEN 'mirror' ELSE 'table' END AS value,
       coalesce(s.seen || ', which only an executor that works by this table writes',
                'no job is active, delayed or paused, and none has a started_at') AS why
  FROM sign s
UNION ALL
SELECT 'foreign key', 'missing', 'a job may name an agent that is gone'
 WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = format('%I.jobs', :'schema')::regclass AND k.contype = 'f')
