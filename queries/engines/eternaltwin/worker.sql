-- The runner of the demo. It takes timers that became due since it began, polls the tasks that it knows, and wakes parents.

-- :arrive every 24 ticks, at most 300 times
WITH made AS (
  SELECT gen_random_uuid() AS job, gen_random_uuid() AS task, (ARRAY['ArchiveDinoparcUser', 'ArchiveTwinoidUser', 'SendEmail'])[1 + floor(random() * 3)::int] AS kind
),
job AS (
  INSERT INTO job (job_id, created_at, initial_state) SELECT m.job, now(), '{"phase":"FetchBank","retries":0}' FROM made m RETURNING job_id
)
INSERT INTO task (task_id, job_id, kind, kind_version, created_at, revision, status, cpu_duration, poll_duration, state)
SELECT m.task, m.job, m.kind, CASE m.kind WHEN 'ArchiveTwinoidUser' THEN 1 ELSE 2 END, now(), 0, 'Available', '0 s', '0 s', '{"phase":"FetchBank","retries":0}'
  FROM made m;

-- :timers
WITH due AS (
  DELETE FROM task_timer USING task t
   WHERE t.task_id = task_timer.task_id AND t.status = 'Blocked' AND deadline BETWEEN now() - interval '10 seconds' AND now() RETURNING t.task_id
)
UPDATE task t SET status = 'Available' FROM due d WHERE t.task_id = d.task_id AND t.status = 'Blocked';

-- :poll
-- The tasks that wait longest. A poll ends a task in one of six cases, lets it sleep, or leaves it Available.
WITH next AS (
  SELECT task_id, kind, convert_from(state, 'UTF8') AS state, random() AS luck
    FROM (SELECT task_id, kind, state FROM task
           WHERE status = 'Available' AND kind <> 'ArchivePopotamoUser' AND kind_version = CASE kind WHEN 'ArchiveHammerfestUser' THEN 3 WHEN 'ArchiveTwinoidUser' THEN 1 WHEN 'Sleep' THEN 1 ELSE 2 END
           ORDER BY polled_at LIMIT 12 FOR UPDATE SKIP LOCKED) AS t
),
judged AS (
  SELECT n.*, n.state LIKE '%AwaitToken%' OR n.state LIKE '%Render%' AS spins,
         CASE WHEN n.state LIKE '%AwaitToken%' OR n.state LIKE '%Render%' THEN 'Available' WHEN n.luck < 0.2 AND n.state NOT LIKE '%"children"%' OR n.state LIKE '%"children"%' THEN 'Complete'
              WHEN n.luck < 0.7 THEN 'Blocked' ELSE 'Available' END AS outcome
    FROM next n
),
polled AS (
  UPDATE task t
     SET revision = t.revision + 1, polled_at = row(greatest(now(), t.created_at), floor(random() * 65536)::int)::job_tick, status = j.outcome::task_status,
         cpu_duration = t.cpu_duration + CASE WHEN j.state LIKE '%Render%' THEN interval '2.4 s' ELSE 0.012 * j.luck * interval '1 s' END,
         poll_duration = t.poll_duration + CASE WHEN j.state LIKE '%Render%' THEN interval '2.41 s' WHEN j.spins THEN interval '1 ms' ELSE 0.9 * j.luck * interval '1 s' END,
         state = CASE WHEN j.spins THEN t.state ELSE convert_to(regexp_replace(j.state, '"retries":\s*\d+', '"retries":' || floor(j.luck * 4)), 'UTF8') END,
         output = CASE j.outcome WHEN 'Complete' THEN convert_to('{"archived":' || floor(j.luck * 400) || '}', 'UTF8') END
    FROM judged j WHERE t.task_id = j.task_id
  RETURNING t.task_id, j.outcome
)
INSERT INTO task_timer (deadline, task_id)
SELECT now() + (4 + 30 * random()) * interval '1 s', p.task_id FROM polled p WHERE p.outcome = 'Blocked';

-- :wake
-- Parents whose children have all ended since the runner began. One whose children ended earlier lost its wake-up.
UPDATE task t SET status = 'Available'
 WHERE t.status = 'Blocked' AND t.state LIKE '%"children"%'
   AND EXISTS (SELECT FROM task c WHERE c.job_id = t.job_id AND c.task_id <> t.task_id AND (c.polled_at).time > now() - interval '5 seconds')
   AND NOT EXISTS (SELECT FROM task c WHERE c.job_id = t.job_id AND c.task_id <> t.task_id AND c.status <> 'Complete');
