-- One look at the runner: its newest poll, and which task is next, while any is Available.
-- A poll at infinity is somebody's hand: it would hide every real one for ever.
-- $1 have text[]
-- Index: task__available_polled_at__idx, both ends.
SELECT 'runner:runner' AS id,
       jsonb_build_object('newest_poll', greatest(
           (SELECT max((t.polled_at).time) FROM :"schema".task t WHERE 'task_scan' = ANY ($1::text[])
               AND (t.polled_at).time < 'infinity'),
           (SELECT (t.polled_at).time FROM :"schema".task t
             WHERE t.status = 'Available' AND t.polled_at IS DISTINCT FROM NULL AND (t.polled_at).time < 'infinity'
             ORDER BY t.polled_at DESC LIMIT 1))::text) AS seen
 WHERE (SELECT true FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 1)
