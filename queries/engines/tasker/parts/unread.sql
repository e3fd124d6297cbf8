-- The queues of `queue_tables` that could not be read; a row without a text for each of which not all `messages` were.
unread AS (
  SELECT string_agg(u.queue_name || ': ' || u.unread, '; ' ORDER BY u.queue_name) AS unread
    FROM queue_tables u WHERE u.unread IS NOT NULL HAVING count(*) > 0
  UNION ALL
  SELECT NULL FROM messages m GROUP BY m.queue_name HAVING count(*) = 2000
)
