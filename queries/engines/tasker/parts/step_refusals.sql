-- :refused
-- Begin of the refusals of an action on the step `s`, whose state is `x`; `y` is the state of its task. The file continues the CASE.
\set states any
SELECT r.id, r.why
  FROM (
    SELECT i AS id,
           CASE
                WHEN x.to_state IS NULL THEN 'no transition of the step is marked as current. Repair that in the database first'
                WHEN y.to_state IS NULL THEN 'no transition of its task is marked as current. Repair that in the database first'
                WHEN y.to_state IN ('complete', 'cancelled', 'resolved_manually') THEN 'its task has ended (' || y.to_state || ')'
