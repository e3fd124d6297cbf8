-- The edited inbox, the digest of the inbox that was edited, and the number of messages, 0 if the text is not a list.
edited AS MATERIALIZED (
  SELECT a.*, CASE WHEN json_typeof(a.text::json) = 'array' THEN json_array_length(a.text::json) ELSE 0 END AS n
    FROM (SELECT :args -> 'inbox' ->> 'text' AS text, :args -> 'inbox' ->> 'seen' AS seen OFFSET 0) AS a
)
