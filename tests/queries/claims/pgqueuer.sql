-- :fill
TRUNCATE pgqueuer;
INSERT INTO pgqueuer (priority, entrypoint, status, execute_after, queue_manager_id, heartbeat)
SELECT floor(random() * 3), (ARRAY['mail', 'billing', 'files'])[1 + floor(random() * 3)::int], s.status::pgqueuer_status, now() + (random() - 0.7) * interval '1 hour',
       CASE s.status WHEN 'picked' THEN gen_random_uuid() END, now() - random() * interval '2 minutes'
  FROM generate_series(1, 12) CROSS JOIN LATERAL (SELECT CASE WHEN random() < 0.5 THEN 'queued' ELSE (ARRAY['picked', 'picked', 'failed'])[1 + floor(random() * 3 + generate_series * 0)::int] END AS status) AS s;

-- :own
-- Without limits of the entrypoints and of the worker; the time after which a job is taken again is 30 seconds.
WITH next_queued AS (
  SELECT q.id, q.priority
    FROM unnest($1::text[]) AS a(entrypoint)
   CROSS JOIN LATERAL (SELECT q2.id, q2.priority FROM pgqueuer q2
                        WHERE q2.entrypoint = a.entrypoint AND q2.status = 'queued' AND q2.execute_after < now()
                        ORDER BY q2.priority DESC, q2.id ASC LIMIT 1000 FOR UPDATE SKIP LOCKED) AS q
),
next_stale AS (
  SELECT q.id, q.priority FROM pgqueuer q
   WHERE q.entrypoint = ANY ($1) AND q.status = 'picked' AND q.heartbeat < now() - interval '30 seconds' AND q.execute_after < now()
   ORDER BY q.priority DESC, q.id ASC FOR UPDATE SKIP LOCKED
)
SELECT c.id::text FROM (SELECT * FROM next_queued UNION ALL SELECT * FROM next_stale) AS c ORDER BY c.priority DESC, c.id ASC;
