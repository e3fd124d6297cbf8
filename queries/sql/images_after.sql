-- The row copies of an action after the change, each with the digest of its row, and the transaction that wrote it.
-- {copied}: the statement `rows` of the action; {images}: images_row.sql for each table that has images
WITH copied AS MATERIALIZED (
{copied}
)
SELECT c.*, i.xmin, NULL::text[] AS texts, i.rest, i.digest FROM copied c LEFT JOIN LATERAL (
{images}
) AS i ON true
