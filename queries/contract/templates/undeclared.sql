UNION ALL
SELECT NULL::text, CASE WHEN a.few THEN format('nodes of declared statuses, not %s of the kind :kind with the status %s,', a.n, array_to_string(a.statuses[:3], ', '))
                        ELSE 'nodes of declared statuses, without a search for other statuses of the kind :kind in a large table,' END
  FROM (SELECT sum(g.n) < :most AS few, sum(g.n) FILTER (WHERE g.other) AS n,
               array_agg(format('%s (%s)', coalesce(g.status, 'NULL'), g.n) ORDER BY g.n DESC, g.status) FILTER (WHERE g.other) AS statuses
          FROM (SELECT s.status, count(*) AS n, (s.status IN (:declared)) IS NOT TRUE AS other
                  FROM (SELECT (:status)::text AS status FROM :"schema".:table AS t LIMIT :most) AS s GROUP BY s.status) AS g) AS a
 WHERE a.n > 0 OR NOT a.few
