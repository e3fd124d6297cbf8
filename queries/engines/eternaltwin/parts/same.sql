-- Whether what a finding about a task t says stays the same still does; seen is what the operator saw, a guard or a version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('status', t.status, 'kind', t.kind, 'kind_version', t.kind_version,
                                    'state', md5(t.state)) @> substr(seen.version, 6)::jsonb
            ELSE false END
