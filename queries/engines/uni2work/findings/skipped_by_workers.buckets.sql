-- Find jobs that wait while workers take others: they fail at once and return, or the application cannot read them.
-- A throttled job runs after its token bucket has refilled, so do not suggest cancelling it.
-- needs: token_bucket
WITH \ir ../parts/placed.sql
, \ir ../parts/late.sql
, skipped AS MATERIALIZED (SELECT l.* FROM late l WHERE l.others ORDER BY l.creation_time, l.id LIMIT :limit),
jobs AS MATERIALIZED (SELECT s.*, q.content FROM skipped s JOIN :"schema".queued_job q ON q.id = s.id),
\ir ../parts/kinds.sql
, throttled AS MATERIALIZED (
  SELECT j.id, b.ident::text AS bucket
    FROM jobs j
    JOIN :"schema".token_bucket b ON b.ident::text = :settings -> 'throttled_by' ->> (j.content ->> 'job')
   WHERE b.last_value <= 0
)
(SELECT 'job:' || p.id AS id, extract(epoch FROM p.creation_time)::float8 AS since,
        jsonb_strip_nulls(jsonb_build_object('created_at', date_trunc('second', p.creation_time)::text, 'waiting', p.waiting, 'of', p.n,
                           'why', CASE WHEN t.id IS NULL THEN 'It fails at once and returns to the queue, or the application cannot read it'
                                       ELSE 'Its job kind is throttled: the token bucket ' || t.bucket || ' is empty' END,
                           'kind', p.kind, 'bucket', t.bucket)) AS evidence,
        t.id IS NULL AND p.proven AS suggest
   FROM kinds p LEFT JOIN throttled t ON t.id = p.id
  ORDER BY p.creation_time, p.id)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
