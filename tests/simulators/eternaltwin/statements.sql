-- Statements of the demo's eternaltwin. Names are unqualified: the search_path names the schema.

-- :clock
SELECT now()::timestamptz(3);

-- :take_timers
-- $1 the tick's time, $2 a time before which timers are ignored, or NULL. Served by task_timer's primary key.
DELETE FROM task_timer
WHERE deadline <= $1 AND deadline > coalesce($2::timestamptz, '-infinity')
RETURNING task_id;

-- :wake
-- $1 ids of tasks whose timer fired or whose child completed. Only Blocked tasks change.
UPDATE task SET status = 'Available' WHERE task_id = ANY ($1::uuid[]) AND status = 'Blocked';

-- :available
-- $1 limit. The order of the partial index: least recently polled first, never polled last.
SELECT task_id FROM task WHERE status = 'Available' ORDER BY polled_at LIMIT $1;

-- :read
-- $1 a task. No lock: a concurrent write raises the revision.
SELECT task_id, job_id, kind, kind_version, revision, state FROM task WHERE task_id = $1 AND status = 'Available';

-- :unfinished
-- $1 ids. Counts the tasks that are not yet complete.
SELECT count(*) FROM task WHERE task_id = ANY ($1::uuid[]) AND status <> 'Complete';

-- :write
-- Result of a step, if the revision is still $2. $3, $4: the tick. $8, $9: seconds.
UPDATE task
SET revision = revision + 1,
    polled_at = row($3::timestamptz, $4::int4)::job_tick,
    status = $5::task_status,
    state = $6,
    output = $7,
    cpu_duration = cpu_duration + make_interval(secs => $8),
    poll_duration = poll_duration + make_interval(secs => $9)
WHERE task_id = $1 AND revision = $2
RETURNING revision;

-- :sleep
-- $1 a task, $2 the tick's time, $3 seconds from then.
INSERT INTO task_timer (deadline, task_id) VALUES ($2::timestamptz + make_interval(secs => $3), $1)
ON CONFLICT DO NOTHING;

-- :spawn
-- New tasks of job $1 at the tick's time $2: ids, kinds, versions, states.
INSERT INTO task
    (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state)
SELECT r.task_id, $1, r.kind, r.kind_version, $2::timestamptz, NULL, 0, 'Available', '0', '0', r.state
FROM unnest($3::uuid[], $4::text[], $5::int8[], $6::bytea[]) AS r (task_id, kind, kind_version, state);

-- :insert_job
-- $1 id, $2 time, $3 the root task's first state.
INSERT INTO job (job_id, created_at, created_by, initial_state) VALUES ($1, $2, NULL, $3);

-- :fill_users
-- ids, ages in seconds
INSERT INTO users (user_id, created_at)
SELECT r.id, now() - make_interval(secs => r.age) FROM unnest($1::uuid[], $2::float8[]) AS r (id, age);

-- :fill_jobs
-- ids, ages in seconds, creators, initial states
INSERT INTO job (job_id, created_at, created_by, initial_state)
SELECT r.id, now() - make_interval(secs => r.age), r.creator, r.state
FROM unnest($1::uuid[], $2::float8[], $3::uuid[], $4::bytea[]) AS r (id, age, creator, state);

-- :fill_tasks
-- ids, jobs, kinds, versions, ages, seconds since the last poll (NULL: never), salts, revisions, statuses, CPU and poll
-- seconds, states, outputs
INSERT INTO task
    (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state,
     output)
SELECT
    r.id, r.job, r.kind, r.version, now() - make_interval(secs => r.age),
    CASE WHEN r.polled IS NOT NULL THEN row(now() - make_interval(secs => r.polled), r.salt)::job_tick END,
    r.revision, r.status::task_status, make_interval(secs => r.cpu), make_interval(secs => r.poll), r.state, r.output
FROM unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::int8[], $5::float8[], $6::float8[], $7::int4[], $8::int8[], $9::text[],
    $10::float8[], $11::float8[], $12::bytea[], $13::bytea[]
) AS r (id, job, kind, version, age, polled, salt, revision, status, cpu, poll, state, output);

-- :fill_timers
-- task ids, seconds from now (negative: overdue)
INSERT INTO task_timer (deadline, task_id)
SELECT now() + make_interval(secs => r.due), r.id FROM unnest($1::uuid[], $2::float8[]) AS r (id, due);

-- :odd_job
-- $1 a job, $2 text of its creation time, which can be beyond the range of most programs
UPDATE job SET created_at = $2::text::timestamptz WHERE job_id = $1;

-- :odd_task
-- $1 a task, then texts: creation time, time of the last poll, CPU and poll duration (an interval may count months)
UPDATE task
SET created_at = $2::text::timestamptz,
    polled_at = row($3::text::timestamptz, 65535)::job_tick,
    cpu_duration = $4::text::interval,
    poll_duration = $5::text::interval
WHERE task_id = $1;

-- :odd_timer
-- $1 a task, $2 text of a deadline
INSERT INTO task_timer (deadline, task_id) VALUES ($2::text::timestamptz, $1);
