-- Nodes of the kind :kind by id, one row for each id that exists.
-- kinds: :kind
SELECT :id AS id,
       :columns
       :version AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".:table AS t
 WHERE :wanted
