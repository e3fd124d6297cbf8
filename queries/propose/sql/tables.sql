-- Number of tables, other than those of the server and of unstick; other databases of the server that the role may open.
SELECT count(*)::int8 AS n,
       (SELECT string_agg(d.datname, ', ')
          FROM (SELECT o.datname::text FROM pg_database o
                 WHERE o.datallowconn AND NOT o.datistemplate AND o.datname NOT IN (current_database(), 'postgres')
                   AND has_database_privilege(o.oid, 'CONNECT')
                 ORDER BY o.datname LIMIT 8) d) AS others
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'unstick') AND n.nspname NOT LIKE 'pg\_t%'
