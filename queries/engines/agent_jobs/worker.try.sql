-- What is written next to one job, :id (job:UUID), for unstick try. Where the queue is in Redis, that is the end of a pending job; an executor that polls the table takes it first.

-- :claim
-- kinds: job
-- proof: assumed
UPDATE :"schema".jobs AS j
   SET status = CASE :profile WHEN 'table' THEN 'active' ELSE 'completed' END, started_at = CASE :profile WHEN 'table' THEN now() ELSE j.started_at END,
       completed_at = CASE :profile WHEN 'table' THEN j.completed_at ELSE now() END, updated_at = now()
 WHERE j.id = substr(:id, 5)::uuid AND j.status = 'pending'
RETURNING j.id;

-- :finish
-- kinds: job
UPDATE :"schema".jobs AS j SET status = 'completed', completed_at = now(), updated_at = now() WHERE j.id = substr(:id, 5)::uuid RETURNING j.id;

-- :fail
-- kinds: job
UPDATE :"schema".jobs AS j SET status = 'failed', error = 'unstick-try', completed_at = now(), updated_at = now() WHERE j.id = substr(:id, 5)::uuid RETURNING j.id;
