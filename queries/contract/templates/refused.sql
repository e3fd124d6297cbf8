
-- :refused
SELECT r.*
  FROM (SELECT :id AS id,
               CASE
               :whys
               END AS why
          FROM :"schema".:table AS t
         WHERE :those) AS r
 WHERE r.why IS NOT NULL
