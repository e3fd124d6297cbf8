-- Tasks that executors poll, and what is stuck: polls that fail, types that no executor serves, unread inboxes, changes by hand.
-- All objects are in the first schema of the search_path. Parameters: none.
-- A line that ends in "--all" is not in the small demo.

-- An id contains its time; shard 0 is this database.
CREATE FUNCTION pg_temp.id(age interval, n int) RETURNS macaddr8 LANGUAGE sql STABLE AS $$
  SELECT lpad(to_hex((floor((extract(epoch FROM now() - age) - 1600000000) * 1000)::bigint << 23) | (n % 8192 << 10)), 16, '0')::macaddr8
$$;
CREATE FUNCTION pg_temp.box(messages json) RETURNS json[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(json_build_array('00:00:00:00:00:00:00:00', m.value) ORDER BY m.n) FROM json_array_elements(messages) WITH ORDINALITY AS m (value, n)
$$;

-- Controllers of 120 specs, most of them asleep. The engine gives them a random parent.
INSERT INTO tasks (task_id, task_type, inner_state, wake_at)
SELECT pg_temp.id(n * interval '2 days', n), 2, json_build_object('messages_processed', 40 + n * 13, 'total_failures', n % 4, 'total_successes', 30 + n * 13),
       CASE WHEN n % 3 > 0 THEN now() + n * interval '2 minutes' + interval '5 seconds' END
  FROM generate_series(1, 120) AS n;

INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, heartbeat, inbox, inbox_next)
SELECT pg_temp.id(t.age, t.number), t.type, t.parent, t.state::json, now() + t.due, coalesce(now() - t.beat, '0001-01-01T00:00:00Z'), pg_temp.box(t.inbox::json), pg_temp.box(t.later::json)
  FROM (VALUES -- two data planes at rest, and one that changes
               (201, 1, interval '300 days', '00:00:00:00:00:00:00:00'::macaddr8, '{"status":"Idle","stack":{"config":{"model":{}}},"disabled":false}', interval '31 minutes', NULL::interval, NULL, NULL),
               (202, 1, interval '299 days', '00:00:00:00:00:00:00:00', '{"status":"Idle","stack":{"config":{"model":{}}},"disabled":false}', interval '12 minutes', NULL, NULL, NULL),
               (203, 1, interval '90 days', '00:00:00:00:00:00:00:00', '{"status":"PulumiUp1","stack":{"config":null},"disabled":false}', interval '-47 minutes', interval '31 seconds', NULL, NULL), --all
               -- alerts, a migration, notifications
               (210, 10, interval '200 days', '00:00:00:00:00:00:00:00', '{"evaluations":4103}', interval '31 minutes', NULL, NULL, NULL),
               (211, 11, interval '200 days', '00:00:00:00:00:00:00:00', '{"evaluations":28001}', interval '7 minutes', NULL, NULL, NULL),
               (212, 8, interval '1 day', NULL, '{"migration_id":"16b9:1c00:0000:0000"}', interval '5 hours', NULL, NULL, NULL),
               (213, 9, interval '3 hours', '00:00:00:00:00:00:00:00', '{"failures":0}', NULL, NULL, NULL, NULL),
               -- messages that no poll can read; a flood behind one of them
               (220, 2, interval '90 days', NULL, '{"total_failures":3}', interval '-3 hours', interval '140 seconds', '[{"type":"dependency_updated"},{"type":"spec_publishd","pub_id":"16b91c0000000000"},{"type":"dependency_updated"}]', NULL), --all
               (221, 2, interval '80 days', NULL, '{"total_failures":1}', interval '-50 minutes', interval '20 seconds', '["inferred_schema_updated"]', NULL), --all
               (222, 2, interval '70 days', NULL, '{"total_failures":0}', interval '-5 hours', interval '230 seconds', '[{"type":"republish"}]', (SELECT json_agg(json_build_object('type', 'shard_failed'))::text FROM generate_series(1, 130))),
               -- each poll asks for the next one at once
               (223, 2, interval '65 days', NULL, '{"total_successes":51233,"next_at":"now"}', interval '0', NULL, NULL, NULL),
               -- a dead worker holds it, and it is not due; unread inboxes; heartbeats that a person has written
               (230, 2, interval '60 days', NULL, '{"total_failures":0}', NULL, interval '2 hours', NULL, '[{"type":"config_updated"}]'),
               (231, 2, interval '50 days', NULL, '{"total_failures":0}', NULL, NULL, '[{"type":"spec_published","pub_id":"16b91c0000000000"}]', NULL),
               -- a tenant's controller: no executor has the type --all
               (240, 12, interval '40 days', '00:00:00:00:00:00:00:00', '{"billing_contact":{}}', interval '-3 hours', interval '3 hours', NULL, NULL), --all
               (241, 12, interval '20 days', '00:00:00:00:00:00:00:00', '{}', interval '-4 hours', NULL, '[{"type":"payment_failed"}]', NULL), --all
               -- a parent whose child is gone, and a chain that sleeps
               (250, 32767, interval '1 day', NULL, '{"Waiting":{"partial":8,"pending":1}}', NULL, NULL, NULL, NULL), --all
               (251, 32767, interval '2 hours', NULL, '{"Waiting":{"partial":3,"pending":1}}', NULL, NULL, NULL, NULL),
               (252, 32767, interval '119 minutes', pg_temp.id(interval '2 hours', 251), '{"SpawnOne":4}', interval '2 hours', NULL, NULL, NULL)
       ) AS t (number, type, age, parent, state, due, beat, inbox, later);

-- The agent of an older version does not know EVOLUTIONS.
INSERT INTO tasks (task_id, task_type, wake_at, inbox)
SELECT pg_temp.id(n * interval '1 minute', 300 + n), 5, now() - n * interval '1 minute', pg_temp.box('[{"type":"queued"}]') FROM generate_series(18, 25) AS n;

INSERT INTO tasks (task_id, task_type, inner_state, wake_at, heartbeat) --all
VALUES (pg_temp.id(interval '30 days', 401), 2, '{}', NULL, '-infinity'), (pg_temp.id(interval '20 days', 402), 2, '{}', now() - interval '20 minutes', '2090-01-01T00:00:00Z'), --all
       (pg_temp.id(interval '10 days', 403), 2, '{"note":"its delay has overflowed"}', now() + interval '90 years', '0001-01-01T00:00:00Z'); --all

INSERT INTO live_specs (id, catalog_name, controller_task_id)
SELECT task_id, (ARRAY['acmeCo', 'wileyCo', 'birdsEye', 'harborLight'])[1 + row_number() OVER (ORDER BY task_id) % 4] || '/' || (ARRAY['orders', 'customers', 'events', 'invoices'])[1 + row_number() OVER (ORDER BY task_id) % 4]
       || '-' || row_number() OVER (ORDER BY task_id), task_id
  FROM tasks WHERE task_type = 2;
INSERT INTO data_planes (id, data_plane_name, controller_task_id)
SELECT task_id, 'ops/dp/public/' || (ARRAY['aws-eu-west-1-c1', 'gcp-us-central1-c2', 'az-eastus-c1'])[row_number() OVER (ORDER BY task_id)], task_id FROM tasks WHERE task_type = 1;
