-- Different words of a column in the newest rows, the most frequent first, and the share of their rows for which facts are true.
-- Documents and wide texts are not read: their lengths suffice.
-- Index: the key, backwards.
SELECT s.word, count(*)::int8 AS n, ARRAY[:shares]::float8[] AS shares
  FROM (SELECT (:word)::text AS word, :facts FROM :"schema".:"table" t ORDER BY :order LIMIT :rows) AS s
 GROUP BY s.word
 ORDER BY n DESC, s.word
 LIMIT :limit
