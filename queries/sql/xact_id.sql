-- This transaction's id and start time, and the server's `life` and `history`. With them the console finds out the outcome
-- of a COMMIT whose answer was lost. `life` changes at a crash, because the server then resets its statistics. `history`
-- changes at a promotion. `synchronous` names the standbys that COMMIT waits for. If the role may not read it (see server.sql), it is a random value, equal to no other.
SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM now())::float8 AS at,
       pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
       coalesce(CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                  AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
                  AND has_function_privilege('pg_control_recovery()', 'EXECUTE')
             THEN (SELECT word FROM ts_stat($$
                    SELECT array_to_tsvector(ARRAY[s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)])
                      FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r$$)) END, gen_random_uuid()::text) AS history,
       CASE WHEN current_setting('synchronous_commit') NOT IN ('off', 'local') THEN current_setting('synchronous_standby_names') ELSE '' END
         AS synchronous,
       -- ts_stat() runs its query only if the role may execute the function, as above. Otherwise there may be a standby.
       CASE WHEN has_function_privilege('pg_stat_get_wal_senders()', 'EXECUTE')
            THEN coalesce((SELECT word::int FROM ts_stat($$
                   SELECT array_to_tsvector(ARRAY[count(*)::text]) FROM pg_stat_get_wal_senders() AS w WHERE w.state IS DISTINCT FROM 'backup'$$)), 0)
            ELSE 1 END AS standbys
