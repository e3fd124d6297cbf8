-- Unlocked jobs with the content of a row in `wanted`, which end the CTE `equal`. held: those that are locked here.
  SELECT o.id, w.id AS wanted
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id LIMIT :window::int) AS o JOIN wanted w ON w.content = o.content
   WHERE o.lock_instance IS NULL AND o.lock_time IS NULL
), held AS MATERIALIZED (
  SELECT q.id, coalesce(q.lock_instance::text, '-') || '@' || coalesce(q.lock_time::text, '-') || ':' || q.xmin AS version
    FROM :"schema".queued_job q
   WHERE q.id = ANY (ARRAY(SELECT e.id FROM equal e))
   ORDER BY q.id
     FOR UPDATE SKIP LOCKED
)
