-- :each
(SELECT :id AS id, 'id' AS matched
   FROM :"schema".:table AS t
  WHERE t.:key = CASE WHEN :query ~ '^:digits$' THEN CAST(:query AS :type) END)
