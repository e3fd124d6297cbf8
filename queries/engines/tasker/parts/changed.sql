-- :change
WITH
\ir involved.sql
SELECT i.id
  FROM involved i
 WHERE
\ir is_changed.sql
