-- Rows of each status, and what is stuck. They are made up: nothing is copied from a database.
INSERT INTO :table (:columns) VALUES
  :rows;
