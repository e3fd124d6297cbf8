-- Jobs, cron entries and buckets have nothing below them.
-- kinds: job cron bucket
SELECT NULL::text AS id, NULL::text AS cursor WHERE false
