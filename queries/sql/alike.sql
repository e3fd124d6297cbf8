-- Values of rows as text, and of rows like them: the newest, and those whose keys come before and after.
-- ids: keys; limit: of each sort of others. {table}, {columns}, {key}, {type}, {values}, {joins}: of a kind
-- Index: the primary key of the table, and those of tables that its rows refer to.
WITH asked AS MATERIALIZED (SELECT CAST(i AS {type}) AS key FROM unnest(:ids) AS i),
near AS (
  SELECT {columns}, false AS sampled FROM {table} AS t WHERE t.{key} = ANY (ARRAY(SELECT a.key FROM asked a))
  UNION ALL
  (SELECT {columns}, true FROM {table} AS t ORDER BY t.{key} DESC LIMIT :limit * 2)
  UNION ALL
  (SELECT {columns}, true FROM {table} AS t WHERE t.{key} < (SELECT a.key FROM asked a ORDER BY a.key LIMIT 1) ORDER BY t.{key} DESC LIMIT :limit)
  UNION ALL
  (SELECT {columns}, true FROM {table} AS t WHERE t.{key} > (SELECT a.key FROM asked a ORDER BY a.key DESC LIMIT 1) ORDER BY t.{key} LIMIT :limit)
)
SELECT t.{key}::text AS key, ARRAY[{values}]::text[] AS values, t.sampled FROM near AS t {joins}
