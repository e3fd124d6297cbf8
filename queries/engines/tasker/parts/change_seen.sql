-- :change
-- A change of the requested ids whose version is still the one that the operator saw.
WITH
\ir seen.sql
