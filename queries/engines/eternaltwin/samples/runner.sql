-- One sample of the runner: its newest poll, and the number of polls of the tasks at both ends of the index, because
-- the runner's own clock may be wrong.
-- Index: task__available_polled_at__idx, 100 rows from each end.
WITH \ir ../parts/newest_poll.sql
SELECT 'runner:runner' AS id,
       jsonb_build_object('newest_poll', (SELECT n.poll::text FROM newest_poll n),
         'polls', (SELECT sum(e.revision)::text
                     FROM ((SELECT revision FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 100)
                           UNION ALL
                           (SELECT revision FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                             ORDER BY polled_at DESC LIMIT 100)) AS e)) AS seen
 WHERE (SELECT true FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 1)
