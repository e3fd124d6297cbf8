-- Due tasks, as nodes.
\ir due_rows.sql
,
\ir nodes.sql
