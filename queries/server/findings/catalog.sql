-- What the catalog says about the server, the database and the roles: new transactions are read-only.
-- $1 args jsonb: engines: label, schema, tables of each
-- $2 settings jsonb
-- Index: pg_db_role_setting_databaseid_rol_index.
WITH labels AS (
  SELECT array_agg(e ->> 'label') AS labels FROM jsonb_array_elements($1::jsonb -> 'engines') AS e
),
settings AS MATERIALIZED (
  SELECT s.setrole, s.setdatabase, split_part(c.setting, '=', 1) AS name, substr(c.setting, strpos(c.setting, '=') + 1) AS value
    FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS c(setting)
   WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
),
everywhere AS (
  -- A setting of the role or the database of this session hides that of the configuration file.
  SELECT p.name, p.reset_val AS value FROM pg_settings p
   WHERE p.name = 'default_transaction_read_only' AND p.source NOT IN ('database', 'user', 'database user', 'client', 'session')
)
SELECT 'read_only_default' AS code, 'setting:' || r.scope AS id, NULL::float8 AS since,
       jsonb_build_object('scope', r.scope, 'remedy', r.remedy) AS evidence, l.labels AS affects, false AS suspected
  FROM (SELECT 'the server' AS scope, 'ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf()' AS remedy
          FROM everywhere e WHERE e.value = 'on'
        UNION ALL
        SELECT 'the database ' || current_database(),
               format('ALTER DATABASE %I RESET default_transaction_read_only', current_database())
          FROM settings s
         WHERE s.name = 'default_transaction_read_only' AND s.setrole = 0 AND s.setdatabase <> 0
           AND lower(s.value) IN ('on', 'true', 'yes', '1')) AS r
 CROSS JOIN labels l
 WHERE NOT pg_is_in_recovery()
