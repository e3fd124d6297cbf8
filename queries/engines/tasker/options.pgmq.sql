-- Where the engine's messages are: in this database where pgmq has its queue for results and the role may read it.
-- pgmq.meta is read by ts_stat, a query given as text, because a role without rights would fail on naming it.
-- needs: pgmq
SELECT 'queue' AS name, CASE WHEN a.may AND a.there THEN 'pgmq' ELSE 'elsewhere' END AS value,
       CASE WHEN NOT a.may THEN 'this role may not read the schema pgmq'
            WHEN a.there THEN 'pgmq has the queue orchestration_step_results'
            ELSE 'pgmq is here, but has no queue orchestration_step_results' END AS why
  FROM (SELECT m.may, CASE WHEN m.may THEN EXISTS (SELECT FROM ts_stat(
                 $q$SELECT array_to_tsvector(ARRAY[queue_name::text]) FROM pgmq.meta WHERE queue_name = 'orchestration_step_results'$q$))
                      ELSE false END AS there
          FROM (SELECT CASE WHEN has_schema_privilege(n.oid, 'USAGE') THEN has_table_privilege(c.oid, 'SELECT') ELSE false END AS may
                  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
                 WHERE n.nspname = 'pgmq' AND c.relname = 'meta') AS m) AS a
