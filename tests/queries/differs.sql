-- Scenes in which a value separates nodes that are stuck from their like: odd ones of 40 are stuck.
-- scene: engine; code of the incident; what it says. Times of oban and solid_queue are in UTC.

-- scene tenant of a payload: graphile_worker; late; 20 of 20 have payload.tenant = acme, 0 of 20 others.
INSERT INTO _private_tasks (identifier) VALUES ('mail');
INSERT INTO _private_jobs (task_id, payload, run_at, created_at, updated_at)
SELECT 1, json_build_object('to', n, 'tenant', CASE WHEN n % 2 = 1 THEN 'acme' ELSE 'other' || n END),
       now() + CASE WHEN n % 2 = 1 THEN -3600 ELSE 3600 END * interval '1 s', now() - interval '2 h', now() - interval '2 h'
  FROM generate_series(1, 40) AS n;

-- scene argument of a queue: oban; starved; 20 of 20 have args.source.region = eu-3, 0 of 20 others.
INSERT INTO oban_producers (uuid, node, queue, meta, started_at, updated_at)
 VALUES (gen_random_uuid(), 'app.1', 'default', '{"limit": 2, "paused": false, "running": []}', timezone('UTC', now()), timezone('UTC', now()));
 INSERT INTO oban_jobs (state, queue, worker, args, inserted_at, scheduled_at, completed_at)
 SELECT CASE WHEN n % 2 = 1 THEN 'available' ELSE 'completed' END::oban_job_state, 'default', 'App.Import',
        jsonb_build_object('id', n, 'source', jsonb_build_object('region', CASE WHEN n % 2 = 1 THEN 'eu-3' ELSE 'us' END)),
        t, t, CASE WHEN n % 2 = 0 THEN t END
   FROM generate_series(1, 40) AS n, LATERAL (SELECT timezone('UTC', now()) - interval '40 min' + n * interval '1 s' AS t) AS x;

-- scene server of tasks that sleep: eternaltwin; tried_often; 20 tasks wait for another try. Their state.retries is 30; most others have less than 5. 20 of 20 have state.user.host = x.es, 0 of 20 others.
INSERT INTO job (job_id, created_at, initial_state) VALUES ('00000000-0000-4000-8000-000000000001', now() - interval '1 d', '');
WITH made AS (
  INSERT INTO task (task_id, job_id, kind, kind_version, created_at, revision, status, cpu_duration, poll_duration, polled_at, state)
  SELECT gen_random_uuid(), '00000000-0000-4000-8000-000000000001', 'Archive', 1, now() - interval '1 d', 9, 'Blocked', '0', '0',
         row(now() - interval '1 min', 1)::job_tick,
         convert_to(json_build_object('retries', CASE WHEN n % 2 = 1 THEN 30 ELSE 0 END, 'user', json_build_object('host', CASE WHEN n % 2 = 1 THEN 'x.es' ELSE 'x.fr' END))::text, 'UTF8')
    FROM generate_series(1, 40) AS n RETURNING task_id)
INSERT INTO task_timer (task_id, deadline) SELECT task_id, now() + interval '1 h' FROM made;

-- scene variant of a state: estuary; not_served; 20 of 20 have inner_state = AwaitPrivateLinks, 0 of 20 others.
INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, heartbeat)
SELECT id_generator(), 1, '00:00:00:00:00:00:00:00',
       CASE WHEN n % 2 = 1 THEN '{"AwaitPrivateLinks": {"n": 1}}' ELSE '{"Idle": {"n": 2}}' END::json,
       CASE WHEN n % 2 = 1 THEN now() - interval '30 min' ELSE now() + interval '1 h' END, '0001-01-01T00:00:00Z'
  FROM generate_series(1, 40) AS n;

-- scene user of failures: agent_jobs; failing_together; 20 jobs failed, each for itself. 20 of 20 have user_id = 00000000-0000-4000-8000-00000000000b, 0 of 20 others.
INSERT INTO agents (user_id, profile) SELECT gen_random_uuid(), row('a' || n, 'g', '', '{}')::agent_profile FROM generate_series(1, 40) AS n;
INSERT INTO jobs (job_id, agent_id, user_id, status, error, created_at, started_at, completed_at)
SELECT n::text, a.id, CASE WHEN n % 2 = 1 THEN '00000000-0000-4000-8000-00000000000b' ELSE a.user_id END, CASE WHEN n % 2 = 1 THEN 'failed' ELSE 'completed' END,
       CASE WHEN n % 2 = 1 THEN 'no ' || chr(65 + n) || ' in ' || chr(66 + n) END, t, t, t
  FROM (SELECT *, row_number() OVER ()::int AS n, now() - interval '10 min' AS t FROM agents) AS a;

-- scene region of a due task: procrastinate; not_served; 20 of 20 have args.region = north, 0 of 20 others.
INSERT INTO procrastinate_workers DEFAULT VALUES;
INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
SELECT 'mail', 'send', jsonb_build_object('n', n, 'region', CASE WHEN n % 2 = 1 THEN 'north' ELSE 'south' END),
       now() + CASE WHEN n % 2 = 1 THEN -3600 ELSE 3600 END * interval '1 s' FROM generate_series(1, 40) AS n;
UPDATE procrastinate_events SET at = now() - interval '2 h';

-- scene class of failures: solid_queue; failing_together; 20 of 20 have arguments.arguments[].plan = free, 0 of 20 others.
WITH made AS (
   INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, finished_at, created_at, updated_at)
   SELECT 'default', 'Job', json_build_object('arguments', json_build_array(json_build_object('plan', CASE WHEN n % 2 = 1 THEN 'free' ELSE 'pro' END)))::text,
          CASE WHEN n % 2 = 0 THEN timezone('UTC', now()) END, timezone('UTC', now()), timezone('UTC', now()) FROM generate_series(1, 40) AS n RETURNING id, finished_at)
 INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
 SELECT id, json_build_object('exception_class', 'E' || chr(65 + id::int), 'message', 'no ' || chr(66 + id::int))::text, timezone('UTC', now()) FROM made WHERE finished_at IS NULL;

-- scene payload of failed jobs: pgqueuer; failing; 20 of 20 have payload.v = 1.0, 0 of 20 others.
INSERT INTO pgqueuer (priority, entrypoint, status, payload, updated)
SELECT 0, 'mail', CASE WHEN n % 2 = 1 THEN 'failed' ELSE 'queued' END::pgqueuer_status, convert_to('{"v": "' || n % 2 || '.0", "id": ' || n || '}', 'UTF8'), now()
  FROM generate_series(1, 40) AS n;
