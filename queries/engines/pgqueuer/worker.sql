-- A queue manager of the demo. It takes jobs of the entrypoint mail; no worker serves billing and files.

-- :arrive every 4 ticks, at most 2000 times
WITH made AS (
  INSERT INTO pgqueuer (priority, entrypoint, status, payload) SELECT 0, 'mail', 'queued', convert_to('{"to": "user' || floor(random() * 900) || '"}', 'UTF8') RETURNING id, priority, entrypoint
)
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint) SELECT id, 'queued', priority, entrypoint FROM made;

-- :beat every 10 ticks
UPDATE pgqueuer SET heartbeat = now() WHERE queue_manager_id = '5f0c7c1e-0000-4000-8000-0000000000de' AND status = 'picked';

-- :finish every 3 ticks
WITH ended AS (
  DELETE FROM pgqueuer WHERE queue_manager_id = '5f0c7c1e-0000-4000-8000-0000000000de' AND status = 'picked' AND updated < now() - interval '1 second' RETURNING id, priority, entrypoint
)
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, traceback)
SELECT e.id, CASE WHEN e.luck < 0.05 THEN 'exception' ELSE 'successful' END::pgqueuer_status, e.priority, e.entrypoint,
       CASE WHEN e.luck < 0.05 THEN jsonb_build_object('exception_type', 'ValueError', 'exception_message', 'no such mailbox', 'traceback', '') END
  FROM (SELECT ended.*, random() AS luck FROM ended) AS e;

-- :take every 3 ticks
WITH next AS (
  SELECT id FROM pgqueuer WHERE status = 'queued' AND entrypoint = 'mail' AND execute_after <= now() ORDER BY priority DESC, id LIMIT 2 FOR UPDATE SKIP LOCKED
),
taken AS (
  UPDATE pgqueuer p SET status = 'picked', queue_manager_id = '5f0c7c1e-0000-4000-8000-0000000000de', updated = now(), heartbeat = now() FROM next n WHERE p.id = n.id RETURNING p.id, p.priority, p.entrypoint
)
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint) SELECT id, 'picked', priority, entrypoint FROM taken;
