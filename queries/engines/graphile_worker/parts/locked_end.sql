-- End of parts/locked.sql: the first page, and a row without an id if there may be more.
  ORDER BY j.locked_at, j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM locked) = 5000
