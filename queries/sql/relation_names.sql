-- Names of relations that match patterns, the first 200 by name.
-- query: patterns for LIKE
-- Scans pg_class, and only for engines whose tables have roles.
SELECT DISTINCT c.relname::text AS name
  FROM pg_class c
 WHERE c.relname LIKE ANY (:query::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
 ORDER BY 1
 LIMIT 200
