-- End of `moving`, whose steps end in the state `state`.
)
\ir step_transitions.sql

\ir change_involved.sql
UPDATE :"schema".workflow_steps s
   SET processed = true, in_process = false, processed_at = now(),
       updated_at = now()
\ir steps_moved.sql
   AND x.to_state = :'state' AND x.created_at = localtimestamp
