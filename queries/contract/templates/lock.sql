
-- :lock
SELECT :id AS id, :version AS version
  FROM :"schema".:table AS t
 WHERE :those
 ORDER BY :by_key
   FOR :strength SKIP LOCKED
