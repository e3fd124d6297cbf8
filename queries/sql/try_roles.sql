-- Roles that may be a worker's: those of these names, and those that log in and have all privileges of its statements.
-- ids: names of roles; schema: the engine's; args: privileges, as [table, word]
-- `able`: it has these privileges. `may`: this session may take the role. `own`: it has it.
-- Reads the roles once, and the privileges of each; no index is needed.
SELECT r.rolname AS role, r.rolname = ANY (:ids) AS named, r.rolname = current_user AS own, p.able AND r.rolcanlogin AND NOT r.rolsuper AS able,
       pg_has_role(session_user, r.oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS may
  FROM pg_roles r
 CROSS JOIN LATERAL (SELECT coalesce(bool_and(has_table_privilege(r.oid, to_regclass(format('%I.%I', :schema, a.pair ->> 0)), a.pair ->> 1)), false) AS able
                       FROM jsonb_array_elements(:args) AS a (pair)) AS p
 WHERE r.rolname = ANY (:ids) OR r.rolname = current_user OR (p.able AND r.rolcanlogin AND NOT r.rolsuper)
 ORDER BY r.rolname
