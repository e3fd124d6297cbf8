-- The queue, if no job has ended since the oldest pending job was created and that job is overdue. With more than 500
-- users nothing is reported, because a job of another user may have ended. A recent end among the first 200 that are
-- read rules the finding out early. The table only shows that no job has ended; the cause is inferred. With one pending
-- row the finding is least certain: the unrecorded completion of an idle deployment's last job has the same rows.
-- needs: by_user
-- Index: one on jobs(user_id, status, created_at): each user's oldest 1,000 pending and newest other jobs.
WITH \ir ../parts/users.sql
, pending AS MATERIALIZED (
  SELECT j.created_at, u.user_id
    FROM users u
   CROSS JOIN LATERAL (SELECT created_at FROM :"schema".jobs WHERE u.last = 'pending' AND user_id = u.user_id AND status = 'pending' ORDER BY created_at LIMIT 1000) AS j
   LIMIT 10000
),
oldest AS (
  SELECT min(p.at) AS at, sum(p.n)::int8 AS n, CASE WHEN sum(p.n) = 10000 OR max(p.n) = 1000 THEN 'at least ' ELSE '' END AS least
    FROM (SELECT min(p.created_at) AS at, count(*) AS n FROM pending p GROUP BY p.user_id) AS p
),
ended AS MATERIALIZED (
  SELECT greatest(l.completed_at, l.started_at) AS at
    FROM users u
   CROSS JOIN LATERAL ((SELECT j.completed_at, j.started_at, j.error FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.completed_at, j.started_at, j.error FROM :"schema".jobs j WHERE u.last >= 'failed' AND j.user_id = u.user_id AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 5)
                       UNION ALL
                       (SELECT j.completed_at, j.started_at, j.error FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'active' ORDER BY j.created_at DESC LIMIT 5)) AS l
   WHERE coalesce(l.error, '') NOT LIKE '% by operator %'
     AND (greatest(l.completed_at, l.started_at) <= now() + interval '5 minutes') IS NOT FALSE -- times ahead are no ends
),
long AS (SELECT now() - :overdue AS ago),
unsettled AS MATERIALIZED (
  SELECT l.ago FROM long l
   WHERE (:ids IS NULL OR 'queue:all' = ANY (:ids))
     AND NOT EXISTS (SELECT FROM (SELECT e.at FROM ended e LIMIT 200) AS e WHERE e.at >= l.ago)
)
SELECT 'queue:all' AS id, extract(epoch FROM o.at)::float8 AS since,
       jsonb_build_object('oldest', date_trunc('second', o.at)::text, 'pending', o.n,
                          'waiting', CASE o.n WHEN 1 THEN '1 job is' ELSE o.least || o.n || ' jobs are' END,
                          'look', CASE WHEN o.n = 1 THEN 'Either the completion of this job was not recorded and no job was created later, or ' ELSE 'Probably ' END
                               || CASE :settings ->> 'profile' WHEN 'table'
                                  THEN CASE WHEN EXISTS (SELECT FROM users u CROSS JOIN LATERAL (SELECT FROM :"schema".jobs a WHERE a.user_id = u.user_id AND a.status = 'active' LIMIT 1) AS o)
                                            THEN 'the active jobs hang and hold all executors, or the executors died with them' ELSE 'no executor polls this table' END
                                  ELSE 'the queue is paused, the workers are down or Redis has lost its data. Check the key bull:file-ingestion:meta-paused in Redis' END) AS evidence,
       CASE o.n WHEN 1 THEN 5 ELSE 9 END AS severity
  FROM oldest o
 WHERE EXISTS (SELECT FROM unsettled)
   AND o.at < (SELECT ago FROM long)
   AND (SELECT count(*) FROM users) < 500
   -- A pending job older than an end is found early if one exists. The oldest pending job is then not computed.
   AND NOT EXISTS (SELECT FROM pending p WHERE p.created_at <= (SELECT max(e.at) FROM (SELECT e.at FROM ended e LIMIT 200) AS e))
   AND NOT EXISTS (SELECT FROM ended e WHERE e.at >= o.at)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE EXISTS (SELECT FROM unsettled) AND (SELECT count(*) FROM users) = 500
