       -- Python's errors are tracebacks that end with the message, Elixir's begin with it.
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300)
