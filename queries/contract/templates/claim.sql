-- Of nodes of the kind :kind: which conditions hold under which a worker takes them, with the values that decide.
-- kinds: :kind
-- :header
WITH
-- :parts
wanted AS (SELECT t.* FROM :"schema".:table AS t WHERE :wanted)
SELECT :id AS id, (:queue)::text AS queue, (:queue_id)::text AS queue_id, :since AS since,
       jsonb_build_array(
         :each
       ) AS holds,
       jsonb_build_array(
         :shows
       ) AS shows,
       jsonb_build_array(
         :holders
       ) AS holders,
       (:owner)::text AS owner, :taken AS taken, :held AS held
  FROM wanted AS t
  :beside
