-- The first undecodable message of each task, a malformed one before others, and the first other one that is not known.
\ir messages.sql
, nodes AS (
  SELECT DISTINCT ON (v.task_id, v.undecodable) 'task:' || v.task_id AS id, v.*, coalesce(:settings -> 'names' ->> v.task_type::text, 'type ' || v.task_type) AS type
    FROM verdicts v
   WHERE v.undecodable OR v.verdict = 'unlisted'
   ORDER BY v.task_id, v.undecodable, v.verdict = 'unlisted', v.position
)
