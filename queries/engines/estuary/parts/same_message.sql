-- True if the fields that a finding guards are unchanged, including the message at the position in $4.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text),
                                    'position', $4::jsonb -> 'position',
                                    'digest', left(encode(sha256(convert_to(coalesce(t.inbox[array_lower(t.inbox, 1) - 1 + ($4::jsonb ->> 'position')::int]::text, 'NULL'), 'UTF8')), 'hex'), 16))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END
