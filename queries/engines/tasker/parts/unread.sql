-- Begin of `unread`: the queues that could not be read, and why. The file continues with rows for other limits, or ends it.
unread AS (
  SELECT string_agg(u.queue_name || ': ' || u.unread, '; ' ORDER BY u.queue_name) AS unread FROM queue_tables u WHERE u.unread IS NOT NULL HAVING count(*) > 0
