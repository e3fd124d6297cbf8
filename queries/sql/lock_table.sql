-- Lock a table as a change does, so that no other session creates triggers, rules or indexes on it.
-- {table}: quoted name
LOCK TABLE {table} IN ROW EXCLUSIVE MODE
