-- Pending jobs from before a restart of the queue's counter: they were lost with the data of Redis. A job that a newer job had
-- overtaken long before the restart was lost earlier, by another cause. Nothing is reported before a job ended after the restart.
-- With table as the profile there is no Redis.
-- needs: by_user, by_agent, by_created
WITH RECURSIVE
\ir ../parts/late.sql
,
\ir ../parts/restarts.sql
(SELECT 'job:' || l.id AS id, extract(epoch FROM l.created_at)::float8 AS since,
        jsonb_build_object('job_id', l.job_id, 'created_at', date_trunc('second', l.created_at)::text, 'restarted', date_trunc('second', r.at)::text,
                           'first', r.job_id, 'before', r.before::text) AS evidence
   FROM late l
  CROSS JOIN LATERAL (SELECT o.* FROM restarts o WHERE o.at > l.created_at ORDER BY o.at LIMIT 1) AS r
  WHERE :settings ->> 'profile' = 'mirror'
    AND (r.reused OR EXISTS (SELECT FROM numbered n WHERE n.completed_at >= r.at AND coalesce(n.error, '') NOT LIKE '% by operator %'))
    AND NOT EXISTS (SELECT FROM numbered n
                     WHERE n.created_at > l.created_at AND n.completed_at < r.at - :overdue
                       AND coalesce(n.error, '') NOT LIKE '% by operator %')
  ORDER BY l.created_at, l.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL FROM more WHERE :ids IS NULL AND more
