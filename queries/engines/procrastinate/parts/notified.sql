-- The engine notifies workers of new jobs only; without a notification they see a job at their next poll.
SELECT 'job:' || c.id AS id
  FROM changed c
 CROSS JOIN LATERAL (SELECT json_build_object('type', 'job_inserted', 'job_id', c.id)::text AS payload) AS p
 CROSS JOIN LATERAL (SELECT pg_notify('procrastinate_any_queue_v1', p.payload),
                            CASE WHEN octet_length(c.queue_name) <= 40 THEN pg_notify('procrastinate_queue_v1#' || c.queue_name, p.payload) END) AS n
