-- :change
-- A change of the tasks of the requested ids, after one that compared their versions.
WITH
\ir involved.sql
