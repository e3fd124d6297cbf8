-- Rows by a part of their texts, among the newest 5,000. Texts of more than 2 kB are not read.
-- query: part of a text
-- Index: the key, backwards.
SELECT ':kind:' || :id AS id, 'payload' AS matched, NULL::text AS cursor
  FROM (SELECT * FROM :"schema".:table ORDER BY :order LIMIT 5000) AS t
 WHERE :found
UNION ALL
SELECT NULL, NULL, 'texts of the newest 5,000 rows'
 LIMIT :limit
