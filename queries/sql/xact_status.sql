-- Status of a transaction: committed, aborted, in progress; NULL if the server no longer knows it; an error for an id that
-- was never assigned. `life` and `history` are as in xact_id.sql: if they differ, the id may belong to another transaction
-- now. `synchronous`: COMMIT waits for a standby.
-- id: the transaction's id
SELECT pg_xact_status(:id::text::xid8) AS status,
       pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
       coalesce(CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                  AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
                  AND has_function_privilege('pg_control_recovery()', 'EXECUTE')
             THEN (SELECT word FROM ts_stat($$
                    SELECT array_to_tsvector(ARRAY[s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)])
                      FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r$$)) END, gen_random_uuid()::text) AS history,
       current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')
         AS synchronous
