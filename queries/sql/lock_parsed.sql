-- Lock a table as a change does, for a role that may not lock the whole table. It is only parsed, which needs no privilege
-- on it, calls no function, and does not lock the table's partitions.
-- {table}: quoted name
DELETE FROM {table} WHERE false
