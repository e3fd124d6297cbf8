-- Of nodes of the kind :kind: which conditions a worker asks hold after actions that set columns of their rows.
-- kinds: :kind
-- :header
WITH
-- :parts
wanted AS (SELECT t.* FROM :"schema".:table AS t WHERE :wanted)
SELECT :id AS id, a.action, a.over, a.holds, a.shows
  FROM wanted AS t
  :beside
 CROSS JOIN LATERAL (
-- :each
SELECT :script AS action, (:over)::bool AS over,
       jsonb_build_array(
         :holds
       ) AS holds,
       jsonb_build_array(
         :shows
       ) AS shows
  :own
-- :end
) AS a
