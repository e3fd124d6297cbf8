-- Statements that lock rows of a table, as pg_stat_statements has them: with parameters for values. The most frequent first.
-- query: name of the table
SELECT 'pg_stat_statements (calls: ' || s.calls || ')' AS source, s.query AS text
  FROM :"schema".pg_stat_statements s
 WHERE s.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
   AND strpos(s.query, :query) > 0 AND s.query ~* 'for\s+(no\s+key\s+)?update'
 ORDER BY s.query ~* 'skip\s+locked' DESC, s.calls DESC
 LIMIT 20
