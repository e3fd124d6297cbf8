-- The row copies of an action after the change, each with the digest of its row, and the transaction that wrote it.
-- {copied}: the statement `rows` of the action; {images}: images_row.sql for each table that has images
WITH copied AS MATERIALIZED (
{copied}
)
SELECT c.*, i.xmin, NULL::text[] AS texts, i.rest, left(md5(i.texts::text || i.rest), 16) AS digest FROM copied c LEFT JOIN LATERAL (
SELECT * FROM (
{images}
) AS r OFFSET 0) AS i ON true -- OFFSET 0: the rest is hashed once
