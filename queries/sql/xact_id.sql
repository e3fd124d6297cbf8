-- This transaction's id, by which its commit can be settled when the answer is lost, and which life of which server
-- it is in (a crash makes the server discard its statistics and so changes when they were reset); its history, which is
-- another one after a promotion; and when it began. Where the role may not ask for the history (see server.sql), it is a
-- new one each time, which is to say that no two are known to be the same.
SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM now())::float8 AS at,
       pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
       coalesce(CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                  AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
                  AND has_function_privilege('pg_control_recovery()', 'EXECUTE')
             THEN (SELECT word FROM ts_stat($$
                    SELECT array_to_tsvector(ARRAY[s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)])
                      FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r$$)) END, gen_random_uuid()::text) AS history
