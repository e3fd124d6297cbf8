-- Rows of some tables, as the server estimates them after ANALYZE.
-- ids: names of the tables
-- Index: pg_class_relname_nsp_index.
SELECT c.relname::text AS name, greatest(c.reltuples, 0)::int8 AS n
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = :schema
 WHERE c.relname = ANY (:ids)
