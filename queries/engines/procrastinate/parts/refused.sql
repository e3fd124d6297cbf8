-- End of the refusals that parts/refusals.sql begins.
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))) AS r
 WHERE r.why IS NOT NULL
