-- :fill
TRUNCATE queued_job;
INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time)
SELECT CASE WHEN random() < 0.15 THEN (ARRAY['{"job": 4}', '[1]', '{"tag": "mail"}', 'null'])[1 + floor(random() * 4)::int]::jsonb
            ELSE jsonb_build_object('job', (ARRAY['mail', 'billing', 'files'])[1 + floor(random() * 3)::int]) END,
       gen_random_uuid(), now() - random() * interval '1 hour', CASE WHEN random() < 0.3 THEN gen_random_uuid() END, CASE WHEN random() < 0.3 THEN now() - random() * interval '1 hour' END
  FROM generate_series(1, 12);

-- :own
-- All rows are offered, and each that is not locked is taken if the code can read its content.
SELECT j.id::text FROM queued_job j
 WHERE lock_instance IS NULL AND lock_time IS NULL AND jsonb_typeof(content) = 'object' AND jsonb_typeof(content -> 'job') = 'string' AND content ->> 'job' = ANY ($1)
 ORDER BY j.creation_time, j.id;
