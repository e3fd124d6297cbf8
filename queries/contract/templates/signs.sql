UNION ALL
(SELECT s.what, NULL::text, s.queue::text, s.sort::text, NULL::text, NULL::text, extract(epoch FROM (to_jsonb(s) ->> 'began')::timestamptz)::float8, NULL::bool, NULL::float8, NULL::float8, extract(epoch FROM s.at)::float8, s.what = 'failed', NULL::int8
   FROM (:signs) AS s)
