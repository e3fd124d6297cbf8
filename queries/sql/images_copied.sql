-- The row copies of an action, each with the image of its row.
-- {copied}: the statement `rows` of the action; {images}: a statement for each table that has images
WITH copied AS MATERIALIZED (
{copied}
)
SELECT c.*, i.* FROM copied c LEFT JOIN LATERAL (
{images}
) AS i ON true
