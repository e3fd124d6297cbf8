-- Seconds by which the data of a standby is old; NULL for a primary. 0 where it has replayed all that it received, and
-- still receives: an idle primary sends no transactions. ts_stat(): see server.sql.
standby_lag AS (
  SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL
              WHEN pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() AND has_function_privilege('pg_stat_get_wal_receiver()', 'EXECUTE')
               AND (SELECT word FROM ts_stat($$
                     SELECT array_to_tsvector(ARRAY[coalesce(w.status, 'streaming')]) FROM pg_stat_get_wal_receiver() AS w WHERE w.pid IS NOT NULL$$)) = 'streaming'
              THEN 0 ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END AS lag
)
