
-- :refused
SELECT r.*
  FROM (SELECT :id AS id,
               CASE
               :whys
               END AS why
          FROM :"schema".:table AS t
         WHERE t.:key = ANY (:keys)) AS r
 WHERE r.why IS NOT NULL
