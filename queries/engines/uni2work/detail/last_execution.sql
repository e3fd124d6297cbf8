-- title: Last execution, as recorded
-- kinds: cron
-- Index: cron_last_exec_pkey.
SELECT c.id::text, c."time"::text, c.instance::text,
       CASE c.instance::text WHEN '756e7374-6963-4b00-8000-000000000000' THEN 'an operator using unstick' ELSE 'an instance of the application' END AS "by"
  FROM :"schema".cron_last_exec c
 WHERE c.id = substr(:id, 6)::int8
