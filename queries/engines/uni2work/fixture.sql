-- Jobs that instances take, and what is stuck: locks of an instance that is gone, a long job, a half lock, jobs that no worker takes,
-- cron jobs and token buckets. A line that ends in "--all" is not in the small demo.
-- All objects are in the first schema of the search_path. Parameters: none.
CREATE TEMP TABLE instance ON COMMIT DROP AS
SELECT md5('alive')::uuid AS alive, md5('slow')::uuid AS slow, md5('gone')::uuid AS gone;

-- In the order of creation: age, who holds it, and for how long.
INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time, write_last_exec)
SELECT j.content::jsonb, CASE WHEN j.age > interval '1 hour' THEN i.gone ELSE i.alive END, now() - j.age, CASE j.holder WHEN 'gone' THEN i.gone WHEN 'slow' THEN i.slow END,
       now() - j.held, j.cron
  FROM instance i
 CROSS JOIN (SELECT '{"job":"send-lecturer-digest","lecturer":17,"week":34}', interval '3 days', NULL, NULL::interval, false
             UNION ALL SELECT '["not","a","job"]', interval '2 days', NULL, NULL, false --all
             UNION ALL SELECT format('{"job":"send-notification","recipient":%s,"notification":{"notification":"sheet-active"}}', n * 700), interval '9 hours' - n * interval '1 second', 'gone', interval '9 hours' - n * interval '2 seconds', false
                         FROM generate_series(1, 4) AS n
             UNION ALL SELECT format('{"job":"distribute-corrections","sheet":%s}', 410 + n), interval '8 hours', 'gone', interval '8 hours' - interval '10 seconds', false FROM generate_series(1, 2) AS n
             UNION ALL SELECT '{"job":"send-course-communication","course":7,"half":true}', interval '2 hours', 'gone', NULL, false
             UNION ALL SELECT '{"job":"help-request","subject":"Hilfe: Abgabe geht nicht"}', interval '50 minutes', NULL, NULL, false
             UNION ALL SELECT '{"job":"prune-old-sent-mails","keep-days":90}', interval '35 minutes', NULL, NULL, true --all
             UNION ALL SELECT '{"job":"send-invitation-reminder","course":12}', interval '26 minutes', NULL, NULL, false FROM generate_series(1, 2) --all
             UNION ALL SELECT '{"job":"synchronise-ldap","num-iterations":7,"epoch":3,"iteration":4}', interval '25 minutes', 'slow', interval '22 minutes', true
             UNION ALL SELECT '{"job":"rechunk-files"}', interval '24 minutes', NULL, NULL, false
             UNION ALL SELECT format('{"job":"send-test-email","email":"test%s@example.org"}', n), interval '40 seconds' - n * interval '1 second', NULL, NULL, false FROM generate_series(1, 30) AS n
       ) AS j (content, age, holder, held, cron);

INSERT INTO cron_last_exec (job, "time", instance)
SELECT j.job::jsonb, now() - j.age, CASE WHEN j.age > interval '1 day' THEN i.gone ELSE i.alive END
  FROM instance i
 CROSS JOIN (VALUES ('{"job":"prune-old-sent-mails","keep-days":90}', interval '25 hours'), ('{"job":"prune-invitations"}', interval '5 minutes'),
                    ('{"job":"prune-session-files"}', interval '2 hours'), ('{"job":"inject-files"}', interval '90 days')) AS j (job, age);
INSERT INTO cron_last_exec (job, "time", instance) SELECT '{"job":"truncate-transaction-log"}', now() - interval '30 seconds', slow FROM instance;
INSERT INTO cron_last_exec (job, "time", instance)
SELECT jsonb_build_object('job', 'distribute-corrections', 'sheet', n), now() - interval '10 hours' - (400 - n) * interval '12 hours', CASE n % 2 WHEN 0 THEN gone ELSE alive END
  FROM instance, generate_series(1, 400) AS n;

INSERT INTO token_bucket (ident, last_value, last_access)
VALUES ('inject-files', 20971520, now() - interval '70 seconds'), ('prune-files', 1411000000, now() - interval '4 hours'), ('rechunk-files', -5000000, now() - interval '95 seconds');
