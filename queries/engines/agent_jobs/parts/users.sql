-- The last 500 users by id, from a loose index scan backwards. last is the alphabetically last status of the user's
-- jobs: the user has no jobs with a later status.
users AS MATERIALIZED (
  WITH RECURSIVE leaps AS (
    (SELECT j.user_id, j.status AS last FROM :"schema".jobs j ORDER BY j.user_id DESC, j.status DESC LIMIT 1)
    UNION ALL
    SELECT n.*
      FROM leaps l
     CROSS JOIN LATERAL (SELECT j.user_id, j.status FROM :"schema".jobs j WHERE j.user_id < l.user_id
                          ORDER BY j.user_id DESC, j.status DESC LIMIT 1) AS n
  )
  SELECT l.user_id, l.last FROM leaps l LIMIT 500
)
