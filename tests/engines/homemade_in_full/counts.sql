-- Number of unfinished items in each phase, up to 10,000.
-- needs: item_by_state
SELECT p.phase, least(count(w.phase), 10000) AS n, CASE WHEN sum(count(w.phase)) OVER () > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM unnest(ARRAY['ready', 'scheduled', 'running', 'failed']) AS p(phase)
  LEFT JOIN (SELECT CASE i.state WHEN 'todo' THEN CASE WHEN i.due > now() THEN 'scheduled' ELSE 'ready' END
                                 WHEN 'doing' THEN 'running' ELSE i.state END AS phase
               FROM :"schema".work_items i WHERE i.state <> 'done' LIMIT 10001) AS w ON w.phase = p.phase
 GROUP BY p.phase
UNION ALL
SELECT 'done', NULL, 'unknown'
