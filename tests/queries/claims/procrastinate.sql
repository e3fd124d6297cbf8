-- :fill
TRUNCATE procrastinate_jobs CASCADE;
INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, status, scheduled_at)
SELECT (ARRAY['mail', 'billing', 'files'])[1 + floor(random() * 3)::int], 'send', floor(random() * 3), CASE WHEN random() < 0.5 THEN 'l' || floor(random() * 4) END,
       (CASE WHEN random() < 0.7 THEN 'todo' ELSE (ARRAY['doing', 'failed', 'succeeded', 'cancelled'])[1 + floor(random() * 4)::int] END)::procrastinate_job_status,
       CASE WHEN random() < 0.5 THEN now() + (random() - 0.5) * interval '1 hour' END
  FROM generate_series(1, 12) ON CONFLICT DO NOTHING;

-- :own
SELECT jobs.id::text FROM procrastinate_jobs AS jobs
 WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs AS o
                    WHERE jobs.lock IS NOT NULL AND o.lock = jobs.lock
                      AND (o.status = 'doing' OR o.status = 'todo' AND (o.priority > jobs.priority OR o.priority = jobs.priority AND o.id < jobs.id)))
   AND jobs.status = 'todo' AND jobs.queue_name = ANY ($1) AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
 ORDER BY jobs.priority DESC, jobs.id ASC FOR UPDATE OF jobs SKIP LOCKED;
