-- What the engine uses of its table, as its application creates it. Other columns are not here.
:types
CREATE TABLE :table (
  :columns
);
