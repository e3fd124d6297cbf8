-- What an instance runs next on one job, :id (job:12), for unstick try. Assumed: the lock of a flush, the end with its cron entry, and the unlock after an error.

-- :claim
-- kinds: job
-- proof: assumed
UPDATE :"schema".queued_job AS j SET lock_instance = '00000000-0000-4000-8000-000000000000', lock_time = now()
 WHERE j.id = substr(:id, 5)::int8 AND j.lock_instance IS NULL AND j.lock_time IS NULL
RETURNING j.id;

-- :finish
-- kinds: job
-- proof: assumed
WITH ended AS (
  DELETE FROM :"schema".queued_job AS j WHERE j.id = substr(:id, 5)::int8 RETURNING j.id, j.content, j.lock_instance, j.write_last_exec
),
recorded AS (
  INSERT INTO :"schema".cron_last_exec (job, "time", instance) SELECT e.content, now(), e.lock_instance FROM ended e WHERE e.write_last_exec
  ON CONFLICT (job) DO UPDATE SET "time" = excluded."time", instance = excluded.instance
)
SELECT e.id FROM ended e;

-- :fail
-- kinds: job
-- proof: assumed
UPDATE :"schema".queued_job AS j SET lock_instance = NULL, lock_time = NULL WHERE j.id = substr(:id, 5)::int8 AND j.lock_instance IS NOT NULL RETURNING j.id;
