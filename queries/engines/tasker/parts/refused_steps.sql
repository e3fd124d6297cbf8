-- End of the refusals that parts/step_refusals.sql begins.
\ir asked_steps.sql
      ) AS r
 WHERE r.why IS NOT NULL
