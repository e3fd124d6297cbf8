-- Whether what a finding about a task t says stays the same still does; seen is what the operator saw, a guard or a version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('due', t.wake_at <= clock_timestamp(), 'state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END
