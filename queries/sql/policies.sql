-- Tables of an engine whose row-level security restricts this role now: hidden rows are not absent.
-- schema, ids: the engine's schema, and its tables
-- Index: pg_class_relname_nsp_index. Locks nothing. The function answers for now: a snapshot would hide a new policy.
SELECT c.relname::text AS name
  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
 WHERE n.nspname = :schema AND c.relname = ANY (:ids) AND row_security_active(c.oid)
