-- Give rows the values of their images.
-- {relation}, {sets}: from undo_columns.sql
-- places: physical places of the rows
-- changes: for each row an object with place, xmin and before
-- Reads each row by its place, without an index.
UPDATE {relation} AS t SET {sets}
  FROM (SELECT (e ->> 'place')::tid AS place, e ->> 'xmin' AS xmin, e -> 'before' AS before FROM jsonb_array_elements(:changes::text::jsonb) AS e) AS i
 WHERE t.ctid = ANY (:places::text[]::tid[])
   AND t.ctid = i.place
   AND t.xmin::text = i.xmin
