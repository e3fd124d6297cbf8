-- Different words of a column in the newest 100,000 rows, the most frequent first.
-- Index: the key, backwards.
SELECT s.word, count(*)::int8 AS n
  FROM (SELECT t.:"column"::text AS word FROM :"schema".:"table" t ORDER BY t.:"key" DESC LIMIT 100000) AS s
 WHERE s.word IS NOT NULL
 GROUP BY s.word
 ORDER BY n DESC, s.word
 LIMIT :limit
