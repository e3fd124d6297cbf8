-- Waits for a worker while others are taken: it fails at once and goes back, or the code cannot read it. Or
-- its kind is throttled: then it runs when its token bucket has refilled, and is not to be cancelled.
-- kinds: job
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- needs: token_bucket
-- Index: queued_job_pkey, both ends; the rows that are told once more. token_bucket holds a few rows.
WITH
\ir ../parts/untaken.sql
, throttled AS MATERIALIZED (
  SELECT p.id, b.ident::text AS bucket
    FROM passed p
    JOIN :"schema".queued_job q ON q.id = p.id
    JOIN :"schema".token_bucket b ON b.ident::text = $2::jsonb -> 'throttled_by' ->> (q.content ->> 'job')
   WHERE b.last_value <= 0
)
(SELECT 'job:' || p.id AS id, extract(epoch FROM p.creation_time)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', p.creation_time)::text, 'waiting', p.waiting, 'of', p.n,
                           'why', CASE WHEN t.id IS NULL THEN 'it fails at once and goes back, or the application cannot read it'
                                       ELSE 'its kind is throttled, for the token bucket ' || t.bucket || ' is empty' END) AS evidence,
        t.id IS NULL AS suggest
   FROM passed p LEFT JOIN throttled t ON t.id = p.id
  ORDER BY p.creation_time, p.id)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'head')::float8::int)
