-- :refused
-- Begin of the refusals of an action on the task `t`, whose state is `x`. The file continues the CASE.
\set states open
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
                WHEN x.to_state IS NULL THEN 'no transition of the task is marked as current. Repair that in the database first'
                WHEN x.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'the task has ended (' || x.to_state || ')'
