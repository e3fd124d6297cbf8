-- Move the task after its steps were changed, and return what was changed.
\ir wake_task.sql

\ir finished.sql

\ir changed.sql
