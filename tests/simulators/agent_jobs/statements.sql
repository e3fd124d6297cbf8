-- Statements of the demo's agent_jobs. Names are unqualified: the search_path names the schema.

-- :insert
-- $1 number in the queue, $2 agent, $3 user: after the job is in the queue in Redis
INSERT INTO jobs (job_id, agent_id, user_id, status) VALUES ($1, $2, $3, 'pending');

-- :end
-- $1 number in the queue, $2 status, $3 error or NULL, $4 the worker's clock. No check of the row's status.
UPDATE jobs SET status = $2, error = coalesce($3, error), completed_at = $4, updated_at = now() WHERE job_id = $1;

-- :clock
SELECT now();

-- :claim
-- An executor that polls the table takes the oldest pending job.
UPDATE jobs SET status = 'active', started_at = now(), updated_at = now()
WHERE id = (SELECT id FROM jobs WHERE status = 'pending' ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, started_at;

-- :finish
-- $1 a job, $2 when it was claimed, $3 status, $4 error. No row if the claim was lost.
UPDATE jobs SET status = $3, error = $4, completed_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE id = $1 AND status = 'active' AND started_at = $2
RETURNING id;

-- :fill_agents
-- ids, users, names
INSERT INTO agents (id, user_id, profile)
SELECT r.id, r.owner, ROW(r.name, 'demo', 'an agent of the demo', '{}')::agent_profile
FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS r (id, owner, name);

-- :fill_jobs
-- ids, numbers, agents, users, statuses, errors, ages in seconds, seconds until the end (NULL: has not ended)
INSERT INTO jobs (id, job_id, agent_id, user_id, status, error, created_at, completed_at, updated_at)
SELECT r.id, r.number, r.agent, r.owner, r.status, r.error, now() - make_interval(secs => r.age),
       now() - make_interval(secs => r.age - r.took), now() - make_interval(secs => r.age - coalesce(r.took, 0))
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::float8[], $8::float8[])
     AS r (id, number, agent, owner, status, error, age, took);

-- :lose_foreign_key
-- A second run of the agents' set-up drops the foreign key and does not create it again.
ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey;
