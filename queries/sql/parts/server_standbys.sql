-- `standbys`: sessions that stream the WAL. `slots`: replication slots that stay. ts_stat() runs its query only if the role may
-- execute the function (see server.sql). Otherwise there may be one.
server_standbys AS (
  SELECT CASE WHEN has_function_privilege('pg_stat_get_wal_senders()', 'EXECUTE')
              THEN coalesce((SELECT word::int FROM ts_stat($$
                     SELECT array_to_tsvector(ARRAY[count(*)::text]) FROM pg_stat_get_wal_senders() AS w WHERE w.state IS DISTINCT FROM 'backup'$$)), 0)
              ELSE 1 END AS standbys,
         CASE WHEN has_function_privilege('pg_get_replication_slots()', 'EXECUTE')
              THEN coalesce((SELECT word::int FROM ts_stat($$
                     SELECT array_to_tsvector(ARRAY[count(*)::text]) FROM pg_get_replication_slots() AS s WHERE NOT s.temporary$$)), 0)
              ELSE 1 END AS slots
)
