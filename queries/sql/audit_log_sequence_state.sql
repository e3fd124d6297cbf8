-- The right to read the sequence of the audit log's ids, and the number of transactions that may have written an entry and
-- have not ended.
-- Indexes: pg_class_relname_nsp_index, pg_depend_reference_index.
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'unstick' AND c.relname = 'audit_log_id_seq' AND c.relkind = 'S'
                  AND has_table_privilege(c.oid, 'SELECT')) AS readable,
       (SELECT count(*) FROM pg_locks l
         WHERE l.locktype = 'relation' AND l.relation = 'unstick.audit_log'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))::int AS writers
