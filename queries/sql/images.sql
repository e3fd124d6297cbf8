-- The rows of nodes, each with its image. A row of another table has none.
-- {located}: the statement that returns their places; {images}: images_row.sql for each table
WITH located AS MATERIALIZED (
{located}
)
SELECT c.id, c.relation::text AS relation, c.place, i.xmin, i.own, i.texts, i.more, i.rest, i.digest
  FROM located c LEFT JOIN LATERAL (
{images}
) AS i ON true
