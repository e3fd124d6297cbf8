UNION ALL
SELECT NULL, NULL, jsonb_build_object('unread', string_agg(u.queue_name || ': ' || u.unread, '; ' ORDER BY u.queue_name))
  FROM unread_queues u HAVING count(*) > 0
