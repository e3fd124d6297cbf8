-- All rows are done, and no more than the key and the status is known.
CREATE TABLE archive (id int8 PRIMARY KEY, status text, note text);
INSERT INTO archive VALUES (1, 'done', 'secret'), (2, 'done', 'secret');
