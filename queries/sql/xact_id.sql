-- This transaction's id, by which its commit can be settled when the answer is lost, and which life of which server
-- it is in (a crash makes the server discard its statistics and so changes when they were reset); its history, which is
-- another one after a promotion; and when it began.
SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM now())::float8 AS at,
       pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life,
       (SELECT s.system_identifier || '/' || greatest(c.timeline_id, r.min_recovery_end_timeline)
          FROM pg_control_system() AS s, pg_control_checkpoint() AS c, pg_control_recovery() AS r) AS history
