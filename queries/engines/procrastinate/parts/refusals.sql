-- :refused
-- Begin of the refusals of an action on the job `j`. The file continues the CASE.
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE
