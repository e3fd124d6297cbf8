
-- :lock
SELECT :id AS id, :version AS version
  FROM :"schema".:table AS t
 WHERE t.:key = ANY (:keys)
 ORDER BY t.:key
   FOR :strength SKIP LOCKED
