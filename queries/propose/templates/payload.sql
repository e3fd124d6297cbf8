-- The column :title.
-- title: :title
-- kinds: :kind
-- Index: the key.
SELECT substr(:content, 1, :bytes) AS payload, octet_length(:content)::int8 AS size
  FROM :"schema".:table AS t
 WHERE :key = CAST(substr(:id, :start) AS :cast)
