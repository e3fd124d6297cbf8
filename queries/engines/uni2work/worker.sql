-- An instance of the application: it locks the oldest free jobs that it can read, ends them, and runs cron. Another one hangs.

-- :arrive at most 4000 times
INSERT INTO queued_job (content, creation_instance, creation_time)
SELECT format('{"job":"%s","recipient":%s}', (ARRAY['send-notification', 'send-notification', 'synchronise-ldap-user', 'send-password-reset'])[1 + floor(random() * 4)::int],
              floor(random() * 9000))::jsonb, md5('alive')::uuid, now();

-- :cron every 40 ticks
INSERT INTO queued_job (content, creation_instance, creation_time, write_last_exec)
SELECT '{"job":"prune-invitations"}', md5('alive')::uuid, now(), true
 WHERE NOT EXISTS (SELECT FROM queued_job WHERE content = '{"job":"prune-invitations"}');

-- :hung every 40 ticks
INSERT INTO cron_last_exec (job, "time", instance) VALUES ('{"job":"truncate-transaction-log"}', now(), md5('slow')::uuid)
ON CONFLICT (job) DO UPDATE SET "time" = excluded."time", instance = excluded.instance;

-- :finish
WITH ended AS (
  DELETE FROM queued_job WHERE lock_instance = md5('alive')::uuid AND content ->> 'job' <> 'help-request' RETURNING content, write_last_exec
)
INSERT INTO cron_last_exec (job, "time", instance) SELECT content, now(), md5('alive')::uuid FROM ended WHERE write_last_exec
ON CONFLICT (job) DO UPDATE SET "time" = excluded."time", instance = excluded.instance;

-- :fail
UPDATE queued_job SET lock_instance = NULL, lock_time = NULL WHERE lock_instance = md5('alive')::uuid;

-- :take
UPDATE queued_job SET lock_instance = md5('alive')::uuid, lock_time = now()
 WHERE id IN (SELECT id FROM queued_job
               WHERE lock_instance IS NULL AND lock_time IS NULL
                 AND content ->> 'job' IN ('send-notification', 'synchronise-ldap-user', 'send-password-reset', 'send-test-email', 'help-request', 'prune-invitations', 'distribute-corrections', 'synchronise-ldap')
               ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED);
