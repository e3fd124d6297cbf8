-- Names and words that would end a quoted name, a line, a comment or a string.
CREATE SCHEMA "s:""schema"" '$1'
-- :change";
SET search_path = "s:""schema"" '$1'
-- :change";
CREATE TYPE "ty""pe
\ir x" AS ENUM ('queued', 'it''s "odd"
-- :change
$1 {worker} \', 'running', 'failed', 'canceled');
CREATE TABLE "jo""bs' = [x]
\ir secret
-- :lock $1 {a} :""schema"" #]" (
  "id
\ir x" bigint PRIMARY KEY,
  "state" "ty""pe
\ir x" NOT NULL,
  "locked_by" text,
  "Locked_At" timestamptz,
  "due" timestamptz NOT NULL DEFAULT now(),
  "t" text,
  "i" jsonb,
  "pay$1""load
-- title: no
" jsonb
);
INSERT INTO "jo""bs' = [x]
\ir secret
-- :lock $1 {a} :""schema"" #]" VALUES
  (1, 'queued', NULL, NULL, now() - interval '1 hour'), (2, 'running', 'secret', now() - interval '1 hour', now()), (3, 'failed', NULL, NULL, now()),
  (4, 'it''s "odd"
-- :change
$1 {worker} \', NULL, NULL, now());
