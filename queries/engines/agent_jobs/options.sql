-- Profile: table if an executor polls this table, mirror if the queue is in Redis. A mirror table never has the
-- statuses `active`, `delayed` or `paused`, nor a started_at. Without an index that would allow to detect it: mirror,
-- which allows fewer actions.
-- Index: one on jobs(user_id, status), searched for these statuses, and for a started_at in the newest finished jobs, for
-- each of 500 users.
WITH \ir parts/users.sql
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
       coalesce(s.seen || ', which only an executor of this table writes',
                'no job is active, delayed or paused, and none has a started_at') AS why
  FROM sign s
 WHERE 'by_user' = ANY (:met_needs)
UNION ALL
SELECT 'profile', 'mirror', 'not checked: no index starts with jobs.user_id' WHERE NOT 'by_user' = ANY (:met_needs)
UNION ALL
SELECT 'foreign key', 'missing', 'a job may refer to a deleted agent'
 WHERE 'by_user' = ANY (:met_needs)
   AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = format('%I.jobs', :'schema')::regclass AND k.contype = 'f')
