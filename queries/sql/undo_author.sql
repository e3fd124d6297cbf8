-- Privileges that the writer of an audit log entry lacks for the changes of its undo. The server fills in the column `role` of an
-- entry, but a role that may write this column can name another one there. So each such role may be the writer, too.
-- sort: missing: the role does not exist; lacks: the privilege `what`; policies: row-level security of the table `what` restricts it
-- schema: of the engine
-- query: the engine's tables
-- args: author: the role in the entry; in_table: the entry is in the table; needs: for each change an object with table; word: the
--   privilege; column: or NULL for a whole row
-- A role may use the privileges of every role that it is a member of, with SET ROLE.
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnam_index.
WITH given AS MATERIALIZED (SELECT :args::text::jsonb AS g),
logs AS MATERIALIZED (
  SELECT c.oid, c.relowner
    FROM given JOIN pg_namespace n ON n.nspname = 'unstick' JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'audit_log'
   WHERE (g ->> 'in_table')::bool
),
authors AS MATERIALIZED (
  SELECT r.oid, r.rolname FROM given JOIN pg_roles r ON r.rolname = g ->> 'author'
  UNION
  SELECT r.oid, r.rolname -- roles without login, such as pg_write_all_data, write by their members
    FROM logs l
    JOIN pg_roles w ON NOT w.rolsuper
     AND (has_column_privilege(w.oid, l.oid, 'role', 'INSERT') OR has_any_column_privilege(w.oid, l.oid, 'UPDATE'))
    JOIN pg_roles r ON r.rolcanlogin AND NOT r.rolsuper AND r.oid <> l.relowner AND pg_has_role(r.oid, w.oid, 'MEMBER')
),
acting AS MATERIALIZED (
  SELECT a.rolname AS author, r.oid, r.rolsuper OR r.rolbypassrls AS exempt FROM authors a JOIN pg_roles r ON pg_has_role(a.oid, r.oid, 'MEMBER')
),
tables AS MATERIALIZED (
  SELECT c.oid, c.relname, c.relnamespace, c.relowner, c.relrowsecurity, c.relforcerowsecurity
    FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (:query::text[])
   WHERE n.nspname = :schema
),
needs AS MATERIALIZED (
  SELECT DISTINCT t.oid, t.relname, t.relnamespace, e ->> 'word' AS word, k.attnum, k.attname
    FROM given CROSS JOIN LATERAL jsonb_array_elements(g -> 'needs') AS e
    JOIN tables t ON t.relname = e ->> 'table'
    LEFT JOIN pg_attribute k ON k.attrelid = t.oid AND k.attname = e ->> 'column' AND NOT k.attisdropped
)
SELECT 'missing' AS sort, g ->> 'author' AS author, '' AS what
  FROM given WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = g ->> 'author')
UNION ALL
SELECT 'lacks', a.rolname::text, n.word || ' on ' || n.relname || coalesce('.' || n.attname, '')
  FROM authors a CROSS JOIN needs n
 WHERE a.rolname <> session_user -- whose own privileges the server checks
   AND NOT EXISTS (
         SELECT FROM acting r
          WHERE r.author = a.rolname AND has_schema_privilege(r.oid, n.relnamespace, 'USAGE')
            AND CASE WHEN n.attnum IS NOT NULL THEN has_column_privilege(r.oid, n.oid, n.attnum, n.word)
                     WHEN n.word = 'DELETE' THEN has_table_privilege(r.oid, n.oid, n.word)
                     ELSE has_any_column_privilege(r.oid, n.oid, n.word) END)
UNION ALL
SELECT 'policies', a.rolname::text, t.relname::text
  FROM authors a CROSS JOIN tables t
 WHERE t.relrowsecurity AND a.rolname <> session_user
   AND NOT EXISTS (SELECT FROM acting r WHERE r.author = a.rolname AND (r.exempt OR (r.oid = t.relowner AND NOT t.relforcerowsecurity)))
 ORDER BY 1, 2, 3
