-- Of nodes of the kind :kind: which conditions hold under which a worker takes them, with the values that decide.
-- kinds: :kind
-- :header
SELECT :id AS id, (:queue)::text AS queue, :since AS since,
       jsonb_build_array(
         :each
       ) AS holds,
       jsonb_build_array(
         :shows
       ) AS shows,
       (:owner)::text AS owner, :taken AS taken, :held AS held
  FROM :"schema".:table AS t
  :beside
 WHERE :wanted
