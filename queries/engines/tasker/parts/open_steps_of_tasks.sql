-- Unprocessed steps in the states of `wanted(to_state)`, and those of their tasks that have ended.
\ir open_steps.sql
, \ir ended_tasks.sql
