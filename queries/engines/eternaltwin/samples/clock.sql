-- One sample of the newest poll, if it is older than clocks differ. If it changes nevertheless, the runner works, and
-- its clock is behind.
-- Index: that of the included part.
WITH \ir ../parts/newest_poll.sql
SELECT 'runner:runner' AS id,
       jsonb_build_object('newest_poll', n.poll::text, 'behind', date_trunc('second', now() - n.poll)::text) AS seen
  FROM newest_poll n
 WHERE isfinite(n.poll) AND n.poll < now() - :clock_ahead
