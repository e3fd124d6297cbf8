-- Statements whose objects tests/queries/test_schema_sql.py compares with the server's: each form on its own.

-- form: clash
CREATE TABLE t (a int CHECK (a > 0) CHECK (a < 9), b int, CHECK (a > b), CHECK (b > a), CHECK (1 > 0));

-- form: clash of indexes
CREATE TABLE t (a int UNIQUE);
CREATE UNIQUE INDEX ON t (a);
CREATE UNIQUE INDEX ON t (a);

-- form: clash with a name
CREATE TABLE t (a int CONSTRAINT u_a_key UNIQUE);
CREATE TABLE u (a int UNIQUE CHECK (a > 1));

-- form: long
CREATE TABLE a_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longer (identifier int UNIQUE, a_table_with_a_name_that_is_as_long_as_a_name_may_ int CHECK (a_table_with_a_name_that_is_as_long_as_a_name_may_ > 0), UNIQUE (a_table_with_a_name_that_is_as_long_as_a_name_may_, identifier));

-- form: longer than a name
CREATE TABLE a_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longera_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longer (a_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longera_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longer int NOT NULL CONSTRAINT ca_table_with_a_name_that_is_as_long_as_a_name_may_be_and_longer UNIQUE);

-- form: multibyte
CREATE TABLE "äääääääääääääääääääääääääääääää" ("é€é€é€é€é€é€é€é€é€" int NOT NULL UNIQUE, Übung int CHECK (Übung > 0), ÄÖ int UNIQUE);

-- form: quoted
CREATE TABLE "My ""Table; (" ("a,b" int NOT NULL UNIQUE, "check" int CHECK ("check" > 0), "A" int, a int, UNIQUE("A", a));

-- form: escaped
CREATE TABLE U&"a\+0000E4b" (U&"\+000041" int UNIQUE);

-- form: keywords
CREATE TABLE T (Exclude boolean NOT NULL, A Int Not Null, KEY int uNiQuE, CHECK (t.KEY > 0 And Exclude));

-- form: checks
CREATE TABLE t (date date, length int, a text, CHECK (length(a) > 1), CHECK (a::date > '1-1-1'::date),
    CHECK (date > date '2020-01-01'), CHECK (cast(a AS date) IS NULL), CHECK ((length) > 0 AND (length + 1) < 9));

-- form: references
CREATE TABLE p (a int PRIMARY KEY, b int, UNIQUE (a, b));
CREATE TABLE t (a int REFERENCES p, b int,
    CONSTRAINT pair FOREIGN KEY (a, b) REFERENCES p (a, b) ON DELETE CASCADE, FOREIGN KEY (a, b) REFERENCES p (a, b),
    FOREIGN KEY (a) REFERENCES p);

-- form: columns
CREATE TABLE t (a serial, b bigint GENERATED ALWAYS AS IDENTITY, c int NOT NULL DEFAULT 1 + (2), d numeric(9, 2) NOT NULL,
    e int GENERATED ALWAYS AS (c + 1) STORED NOT NULL, f text DEFAULT ', g int NOT NULL', "default" int NOT NULL,
    h int, i int, PRIMARY KEY (h, i));

-- form: comments
/* ; ( */ CREATE TABLE t ( -- UNIQUE (a
 a int NOT NULL, b text DEFAULT E'\'', /* UNIQUE */ c text DEFAULT 'it''s; (' NOT NULL);

-- form: indexes
CREATE TABLE t (a text, b int, c int, UNIQUE (a) INCLUDE (b), UNIQUE NULLS NOT DISTINCT (b), EXCLUDE USING btree (c WITH =));
CREATE UNIQUE INDEX ON t (lower(a), (b + c));
CREATE UNIQUE INDEX ON ONLY t USING btree (b DESC, c) INCLUDE (a);
CREATE UNIQUE INDEX IF NOT EXISTS mine ON t (a) WHERE b > 1;
CREATE INDEX ON t (a);

-- form: alter
CREATE TABLE t (id bigint NOT NULL, a int, b int);
ALTER TABLE ONLY t ADD CONSTRAINT t_pkey PRIMARY KEY (id), ADD UNIQUE (a, b);
ALTER TABLE t ALTER a SET NOT NULL, ALTER COLUMN b DROP NOT NULL;
ALTER TABLE IF EXISTS t ADD COLUMN IF NOT EXISTS c int NOT NULL CHECK (c > a), ADD d int REFERENCES t, ADD CHECK (b > 1);

-- form: triggers
CREATE TABLE t (a int, b int);
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $x$ BEGIN
    CREATE TABLE no (a int UNIQUE); RETURN NULL; END $x$;
CREATE TRIGGER "On t" BEFORE UPDATE OF a, b ON t EXECUTE FUNCTION f();
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION f();

-- form: qualified
CREATE UNLOGGED TABLE public."x" (a int UNIQUE);
ALTER TABLE "public".x ADD CHECK (a > 1);
CREATE UNIQUE INDEX ON public.x (a);
