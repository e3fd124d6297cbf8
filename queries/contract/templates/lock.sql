
-- :lock
SELECT :id AS id, :version AS version
  FROM :"schema".:table AS t
 WHERE :asked
 ORDER BY t.:key
   FOR :strength SKIP LOCKED
