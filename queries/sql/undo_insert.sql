-- Insert deleted rows again from their images.
-- {relation}, {names}, {values}: from undo_columns.sql
-- changes: for each row an object with before
INSERT INTO {relation} ({names}) OVERRIDING SYSTEM VALUE
SELECT {values}
  FROM (SELECT e -> 'before' AS before FROM jsonb_array_elements(:changes::text::jsonb) AS e) AS i
