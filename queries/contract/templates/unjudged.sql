UNION ALL
SELECT NULL, NULL, jsonb_build_object('why', u.why), NULL, NULL FROM unjudged AS u
