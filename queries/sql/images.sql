-- Rows of one table as text, column by column.
-- {images}: images_row.sql; {table}: from image_columns.sql
-- places: physical places of the rows
SELECT c.place, i.* FROM (SELECT unnest(:places::text[]) AS place, {table} AS "table") AS c CROSS JOIN LATERAL (
{images}
) AS i
