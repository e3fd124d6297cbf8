-- Statements of sessions that lock rows of a table, whole ones only, and the schema of pg_stat_statements (without a text).
-- query: name of the table
SELECT 'a session of ' || a.usename AS source, a.query AS text
  FROM pg_stat_activity a
 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND strpos(a.query, :query) > 0
   AND a.query ~* 'for\s+(no\s+key\s+)?update'
   AND octet_length(a.query) < (SELECT s.setting::int - 1 FROM pg_settings s WHERE s.name = 'track_activity_query_size')
UNION ALL
SELECT n.nspname::text, NULL FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'
 LIMIT 50
