-- The first page, oldest first.
  ORDER BY since, id
  LIMIT :limit)
