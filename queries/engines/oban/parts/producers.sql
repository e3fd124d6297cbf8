, served AS MATERIALIZED (
  SELECT p.queue, count(*) AS producers, bool_and(coalesce(p.meta ->> 'paused', 'false') = 'true') AS paused, min(p.updated_at) AS since
    FROM :"schema".oban_producers p
   WHERE p.updated_at >= timezone('UTC', now()) - :alive
   GROUP BY p.queue
)
