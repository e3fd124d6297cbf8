-- title: :title
-- kinds: :kind
SELECT substring(p.payload FOR :bytes) AS payload, octet_length(p.payload)::int8 AS size
  FROM (SELECT :payload AS payload FROM :"schema".:table AS t WHERE :one AND :column IS NOT NULL) AS p
