-- Lock tables as a change does, so that no other session creates triggers, rules or indexes on them. Sent with BEGIN.
-- {tables}: quoted names
LOCK TABLE {tables} IN ROW EXCLUSIVE MODE
