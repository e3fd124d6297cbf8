-- True if the fields that a finding about task t guards are unchanged; seen.version is a guard or a row version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('status', t.status, 'kind', t.kind, 'kind_version', t.kind_version,
                                    'state', md5(t.state)) @> substr(seen.version, 6)::jsonb
            ELSE false END
