-- Nodes of the kind :kind that show how work comes and goes: of each sort of unfinished ones the first 200 that are taken
-- or wait, of all the newest 200, and what the history says.
-- kinds: :kind
-- :header
WITH
-- :parts
looked AS (
-- :each
(SELECT :part AS part, :id AS id, (:queue)::text AS queue, (:sort)::text AS sort, (:owner)::text AS owner, (:first)::text AS first,
        :taken AS taken, (:held) IS NOT NULL AS held, :due AS due, :created AS created, :ended AS ended, :failed AS failed, (:revised)::int8 AS revised
   FROM (SELECT t.* FROM :"schema".:table AS t
          WHERE :unfinished
          :sorted
          LIMIT 200) AS t
   :beside
)
-- :end
-- :signs
)
SELECT * FROM looked
