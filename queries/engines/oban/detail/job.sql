-- title: Job (times in UTC)
-- kinds: job
-- Index: oban_jobs_pkey.
SELECT j.queue, j.priority, j.tags::text AS tags, j.meta::text AS meta, j.attempted_by::text AS "attempted by", j.inserted_at::text AS inserted,
       j.scheduled_at::text AS scheduled, j.attempted_at::text AS attempted, j.completed_at::text AS completed, j.discarded_at::text AS discarded,
       j.cancelled_at::text AS cancelled
  FROM :"schema".oban_jobs j
 WHERE j.id = substr(:id, 5)::int8
