-- The engine notifies producers of inserted jobs; without a notification they see a job at their next poll.
SELECT 'job:' || c.id AS id
  FROM changed c
 CROSS JOIN LATERAL pg_notify(:'schema' || '.oban_insert', json_build_object('queue', c.queue)::text) AS sent
