-- Columns of an entry from the JSON object `e`, and its rows before and after.
       e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
       e -> 'arguments', e -> 'results', :changes::text::json
