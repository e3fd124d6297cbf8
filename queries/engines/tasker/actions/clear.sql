-- Clear the in_process flag of a step that is not in process, so that the poller can find it.

-- :refused
WITH \ir ../parts/asked_steps.sql
SELECT a.id, r.why FROM asked_steps a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN NOT a.in_process THEN 'its in_process flag is not set'
       WHEN a.to_state NOT IN ('pending', 'waiting_for_retry') THEN 'it is ' || a.to_state || ', so the flag may be correct' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
UPDATE :"schema".workflow_steps s SET in_process = false, updated_at = now()
  FROM seen n
 WHERE s.workflow_step_uuid = n.step AND n.state IN ('pending', 'waiting_for_retry') AND s.in_process

-- :change
WITH \ir ../parts/changed.sql
, \ir ../parts/continued.sql
SELECT c.moved FROM continued c

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
