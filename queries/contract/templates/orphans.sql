UNION ALL
SELECT NULL::text, :unsearched
 WHERE NOT :few
   AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND c.convalidated
                      AND c.conrelid = format('%I.%I', :'schema', :name)::regclass AND c.confrelid = format('%I.%I', :'schema', :parent_name)::regclass)
