-- Names of relations: those given, and those that match a pattern, of which the first 200 by name. Anybody who may create
-- tables can create many. A pattern scans pg_class.
-- query: names; args: like: patterns for LIKE, for engines whose tables have roles
names AS MATERIALIZED (
  SELECT unnest(:query::text[]) AS name
  UNION
  (SELECT DISTINCT c.relname::text
     FROM pg_class c
    WHERE :args::text::jsonb -> 'like' <> '[]' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND c.relname LIKE ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'like')))
    ORDER BY 1
    LIMIT 200)
)
