-- A part of a combined statement: its number, and its rows as JSON. to_json keeps digits, keys and escapes, which jsonb
-- loses or refuses. No column is called unstick_row: the name would then be that of the column.
SELECT {number} AS part, to_json(unstick_row)::text AS row
  FROM (
{statement}
) AS unstick_row
