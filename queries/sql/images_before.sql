-- The row copies of an action before the change, each with the image of its row.
-- {copied}: the statement `rows` of the action; {images}: images_row.sql for each table that has images
WITH copied AS MATERIALIZED (
{copied}
)
SELECT c.*, NULL::text AS xmin, i.texts, i.rest, NULL::text AS digest FROM copied c LEFT JOIN LATERAL (
{images}
) AS i ON true
