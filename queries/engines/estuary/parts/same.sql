-- True if the fields that a finding about task t guards are unchanged; seen.version is a guard or a row version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('due', t.wake_at <= clock_timestamp(), 'state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END
