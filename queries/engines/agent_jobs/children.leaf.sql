-- Jobs have nothing below them, and the queue as a whole is no parent.
-- kinds: job queue
SELECT NULL::text AS id, NULL::text AS cursor WHERE false
