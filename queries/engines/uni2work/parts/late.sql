-- The first page of the oldest jobs that wait too long, and whether workers took others meanwhile (`others`) instead of older
-- ones first. While workers take jobs, a long queue is no fault: then few of the later jobs have been taken.
late AS MATERIALIZED (
  WITH \ir placed.sql
  , first AS MATERIALIZED (
    SELECT w.id, w.others
      FROM (SELECT p.id, p.creation_time, p.in_order,
                   CASE WHEN p.in_order THEN p.passed > 0 AND p.passed >= p.later * :passed_share
                        ELSE coalesce(greatest(p.newest, p.executed, p.moved) > p.creation_time, false) OR p.passed > 0 END AS others
              FROM placed p
             WHERE p.waits
               AND NOT (p.waiting >= :late_rows::int AND p.waiting * 2 > p.n AND NOT p.alive)
               AND (:ids IS NULL OR p.id = ANY (:job_keys))) AS w
     WHERE w.others OR NOT w.in_order
     ORDER BY w.creation_time, w.id LIMIT :limit
  )
  SELECT q.*, f.others FROM first f JOIN :"schema".queued_job q ON q.id = f.id
)
