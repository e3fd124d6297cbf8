-- Jobs, cron entries and buckets have no children.
-- kinds: job cron bucket
SELECT NULL::text AS id, NULL::text AS cursor WHERE false
