-- Detect where the engine's messages are: in this database if pgmq has the results queue and the role can read it.
-- ts_stat reads pgmq.meta with a query given as text, because a role without privileges fails on a direct reference.
-- needs: pgmq
SELECT 'queue' AS name, CASE WHEN a.may AND a.there THEN 'pgmq' ELSE 'elsewhere' END AS value,
       CASE WHEN NOT a.may THEN 'this role has no privileges on the schema pgmq'
            WHEN a.there THEN 'pgmq has the queue orchestration_step_results'
            ELSE 'pgmq has no queue orchestration_step_results' END AS why
  FROM (SELECT m.may, CASE WHEN m.may THEN EXISTS (SELECT FROM ts_stat(
                 $q$SELECT array_to_tsvector(ARRAY[queue_name::text]) FROM pgmq.meta WHERE queue_name = 'orchestration_step_results'$q$))
                      ELSE false END AS there
          FROM (SELECT CASE WHEN has_schema_privilege(n.oid, 'USAGE') THEN has_table_privilege(c.oid, 'SELECT') ELSE false END AS may
                  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
                 WHERE n.nspname = 'pgmq' AND c.relname = 'meta') AS m) AS a
