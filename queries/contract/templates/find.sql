-- Nodes by id; by the beginning of an id if it is a uuid.
-- query: an id
SELECT f.id, f.matched
  FROM (
:parts
) AS f
 LIMIT :limit
