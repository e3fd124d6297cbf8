-- A row without an id if there may be more jobs of the status.
UNION ALL
SELECT NULL, NULL, NULL
 WHERE :ids IS NULL AND :settings ->> 'profile' = 'table'
   AND ((SELECT count(*) FROM checked) = 2000 OR NOT 'unfinished' = ANY (:met_needs) AND (SELECT count(*) FROM users) = 500)
