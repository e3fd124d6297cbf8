UNION ALL
SELECT NULL::text, CASE WHEN a.few THEN format('rows that a root reaches, not %s of the kind :kind in or below a ring of parents (%s),', a.n, a.ids) ELSE :unsearched END
  FROM (WITH RECURSIVE searched AS MATERIALIZED (SELECT t.:key AS key, t.:parent AS parent FROM :"schema".:table AS t LIMIT :most),
             few AS MATERIALIZED (SELECT count(*) < :most AS few FROM searched),
             reached AS ( -- a longer line of parents is taken for a ring
               SELECT s.key, 0 AS level FROM searched s, few f
                WHERE f.few AND (s.parent IS NULL OR s.parent = s.key OR NOT EXISTS (SELECT FROM searched p WHERE p.key = s.parent))
               UNION ALL
               SELECT s.key, r.level + 1 FROM reached r JOIN searched s ON s.parent = r.key AND s.key <> r.key WHERE r.level < 1000
             )
        SELECT f.few, count(s.key) AS n, array_to_string((array_agg(s.key ORDER BY s.key))[:3], ', ') AS ids
          FROM few f LEFT JOIN searched s ON f.few AND NOT EXISTS (SELECT FROM reached r WHERE r.key = s.key) GROUP BY f.few) AS a
 WHERE a.n > 0 OR NOT a.few
