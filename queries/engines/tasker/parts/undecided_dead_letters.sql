-- Pending dead letters with the current state of their task.
-- Indexes: those of the included part, idx_task_transitions_state_lookup.
\ir dead_letters.sql
, current AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT d.task_uuid FROM dead_letters d))
),
nodes AS (
  SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, d.*
    FROM (SELECT d.*, x.to_state FROM dead_letters d FULL JOIN current x ON x.task_uuid = d.task_uuid OFFSET 0) AS d -- never by nested loops
),
more AS (SELECT count(*) = 5000 AS more FROM dead_letters)
