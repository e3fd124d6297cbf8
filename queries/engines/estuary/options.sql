-- Option parents: random if parent_id has a random default; most parent ids then belong to no task.
-- Index: pg_attribute_relid_attnam_index.
SELECT 'parents' AS name, 'random' AS value,
       'flowid has the default ' || y.typdefault || ', so a row inserted without parent_id gets a parent that does not exist' AS why
  FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
 WHERE a.attrelid = format('%I.tasks', :'schema')::regclass AND a.attname = 'parent_id' AND y.typtype = 'd' AND y.typdefault IS NOT NULL
