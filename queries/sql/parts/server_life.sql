-- `life` changes at a crash, because the server then resets its statistics. `history` changes at a promotion. If the role
-- may not read it (see server.sql), it is a random value, equal to no other.
server_life AS (
  SELECT pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
         coalesce(CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                    AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
                    AND has_function_privilege('pg_control_recovery()', 'EXECUTE')
               THEN (SELECT word FROM ts_stat($$
                      SELECT array_to_tsvector(ARRAY[s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)])
                        FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r$$)) END, gen_random_uuid()::text) AS history
)
