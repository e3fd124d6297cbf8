-- A text that the server must convert into the encoding of the database. query: the text
SELECT :query IS NOT NULL AS there
