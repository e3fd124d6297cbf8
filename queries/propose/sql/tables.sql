-- Number of tables, other than those of the server and of unstick.
SELECT count(*)::int8 AS n
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'unstick') AND n.nspname NOT LIKE 'pg\_t%'
