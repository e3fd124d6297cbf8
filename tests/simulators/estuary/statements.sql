-- Statements of the demo's estuary. Names are unqualified: the search_path names the schema.

-- :clock
SELECT extract(epoch FROM now())::float8;

-- :dequeue
-- $1 types, $2 timeout in seconds, $3 limit. Does not change wake_at and does not read inbox_next.
WITH picked AS (
    SELECT task_id FROM tasks
    WHERE task_type = ANY ($1::int2[]) AND wake_at < now() AND heartbeat < now() - make_interval(secs => $2::float8)
    ORDER BY wake_at
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE tasks SET heartbeat = now()
FROM picked WHERE tasks.task_id = picked.task_id
RETURNING tasks.task_id::text, task_type, parent_id::text, inbox::text[] AS inbox, inner_state::text AS state,
          heartbeat::text AS heartbeat;

-- :beat
-- $1 a task, $2 the heartbeat that this executor wrote last. No row if another process has changed it.
UPDATE tasks SET heartbeat = now() WHERE task_id = $1::text::macaddr8 AND heartbeat::text = $2 RETURNING heartbeat::text;

-- :persist
-- $1 a task, $2 unread messages, $3 new state, $4 seconds until the next poll or NULL. The only guard is that the task
-- exists.
UPDATE tasks SET
    heartbeat = '0001-01-01T00:00:00Z',
    inbox = $2::text[]::json[] || inbox_next,
    inbox_next = NULL,
    inner_state = $3::text::json,
    wake_at = CASE WHEN inbox_next IS NOT NULL THEN now() ELSE now() + make_interval(secs => $4::float8) END
WHERE task_id = $1::text::macaddr8
RETURNING wake_at IS NULL;

-- :finish
-- $1 a task that is done. No row if a message arrived in the meantime.
DELETE FROM tasks WHERE task_id = $1::text::macaddr8 AND wake_at IS NULL;

-- :new_id
SELECT id_generator()::text;

-- :create
-- $1 id, $2 type, $3 parent
SELECT create_task($1::text::macaddr8, $2::int2, $3::text::macaddr8);

-- :send
-- $1 to, $2 from, $3 message, NULL for an EOF
SELECT send_to_task($1::text::macaddr8, $2::text::macaddr8, $3::text::json);

-- :queue
-- $1 a type. Like the engine's trigger: the INSERT omits parent_id, so the domain's default supplies it.
WITH made AS (INSERT INTO tasks (task_id, task_type) VALUES (id_generator(), $1::int2) RETURNING task_id)
SELECT task_id::text FROM made;

-- :fill_tasks
-- ids, types, parents, states, seconds until wake_at (NULL: suspended), ages of heartbeats (NULL: idle), inboxes and
-- messages set aside, each as a JSON array of what the elements are (NULL: none)
INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, heartbeat, inbox, inbox_next)
SELECT
    r.id::macaddr8, r.type, r.parent::macaddr8, r.state::json, now() + make_interval(secs => r.due),
    coalesce(now() - make_interval(secs => r.beat), '0001-01-01T00:00:00Z'),
    (SELECT array_agg(e.value ORDER BY e.n) FROM json_array_elements(r.inbox::json) WITH ORDINALITY AS e(value, n)),
    (SELECT array_agg(e.value ORDER BY e.n) FROM json_array_elements(r.inbox_next::json) WITH ORDINALITY AS e(value, n))
FROM unnest($1::text[], $2::int2[], $3::text[], $4::text[], $5::float8[], $6::float8[], $7::text[], $8::text[])
    AS r (id, type, parent, state, due, beat, inbox, inbox_next);

-- :fill_specs
-- ids, names, controllers
INSERT INTO live_specs (id, catalog_name, controller_task_id)
SELECT r.id::macaddr8, r.name, r.task::macaddr8 FROM unnest($1::text[], $2::text[], $3::text[]) AS r (id, name, task);

-- :fill_planes
-- ids, names, controllers
INSERT INTO data_planes (id, data_plane_name, controller_task_id)
SELECT r.id::macaddr8, r.name, r.task::macaddr8 FROM unnest($1::text[], $2::text[], $3::text[]) AS r (id, name, task);
