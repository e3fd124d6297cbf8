-- The first undecodable message of each task, a malformed one before others, and the first other one that is not known.
\ir ends.sql
, \ir verdicts.sql
,
unread AS ( -- between the ends
  SELECT CASE WHEN NOT 'task_by_heartbeat' = ANY (:met_needs) THEN 'task_by_heartbeat' END AS unread WHERE (SELECT count(*) FROM ends) = 5000
),
nodes AS (
  SELECT DISTINCT ON (v.task_id, v.undecodable) 'task:' || v.task_id AS id, v.*, coalesce(:settings -> 'names' ->> v.task_type::text, 'type ' || v.task_type) AS type
    FROM verdicts v
   WHERE v.undecodable OR v.verdict = 'unlisted'
   ORDER BY v.task_id, v.undecodable, v.verdict = 'unlisted', v.position
)
