-- Steps `s` of the ids in `seen`, with their state `x`. Needs parts/seen.sql.
    FROM seen n
    JOIN :"schema".workflow_steps s ON s.task_uuid = n.task_uuid AND (n.step IS NULL OR s.workflow_step_uuid = n.step)
   CROSS JOIN LATERAL (
\ir step_state.sql
         ) AS x
