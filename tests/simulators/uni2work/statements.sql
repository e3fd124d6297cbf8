-- Statements of the demo's uni2work. Names are unqualified: the search_path names the schema.

-- :offered
-- Every row, in the order of a flush.
SELECT id FROM queued_job ORDER BY creation_time, id;

-- :look
-- $1 a row, read in the SERIALIZABLE transaction that locks it
SELECT id, content::text AS content, lock_instance, lock_time, write_last_exec,
       lock_time < now() - make_interval(secs => $2) AS stale
FROM queued_job WHERE id = $1;

-- :lock
-- $1 a row, $2 the instance
UPDATE queued_job SET lock_instance = $2, lock_time = now() WHERE id = $1;

-- :unlock
-- $1 a row, $2 the instance that failed. The row stays for the next flush.
UPDATE queued_job SET lock_instance = NULL, lock_time = NULL WHERE id = $1 AND lock_instance = $2;

-- :delete
-- $1 a row whose job has succeeded
DELETE FROM queued_job WHERE id = $1;

-- :record
-- $1 the content of a row, $2 the instance
INSERT INTO cron_last_exec (job, "time", instance) VALUES ($1::text::jsonb, now(), $2)
ON CONFLICT (job) DO UPDATE SET "time" = excluded."time", instance = excluded.instance;

-- :queue
-- $1 content, $2 the instance, $3 true for cron, which queues a job only once
INSERT INTO queued_job (content, creation_instance, creation_time, write_last_exec)
SELECT $1::text::jsonb, $2, now(), $3
WHERE NOT ($3 AND EXISTS (SELECT FROM queued_job WHERE content = $1::text::jsonb AND write_last_exec)) RETURNING id;

-- :fill_jobs
-- contents, creators, ages in seconds, holders (NULL: not locked), ages of the locks, whether cron made them
INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time, write_last_exec)
SELECT r.content::jsonb, r.creator, now() - make_interval(secs => r.age), r.holder, now() - make_interval(secs => r.held), r.cron
FROM unnest($1::text[], $2::uuid[], $3::float8[], $4::uuid[], $5::float8[], $6::bool[])
     WITH ORDINALITY AS r (content, creator, age, holder, held, cron, place)
ORDER BY r.place;

-- :fill_cron
-- jobs, ages in seconds, instances
INSERT INTO cron_last_exec (job, "time", instance)
SELECT r.job::jsonb, now() - make_interval(secs => r.age), r.instance
FROM unnest($1::text[], $2::float8[], $3::uuid[]) WITH ORDINALITY AS r (job, age, instance, place)
ORDER BY r.place
ON CONFLICT DO NOTHING;

-- :fill_buckets
-- idents, values, ages in seconds
INSERT INTO token_bucket (ident, last_value, last_access)
SELECT r.ident, r.value, now() - make_interval(secs => r.age)
FROM unnest($1::text[], $2::int8[], $3::float8[]) AS r (ident, value, age);
