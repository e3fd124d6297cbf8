UNION ALL
SELECT NULL, NULL, CASE WHEN u.unread IS NOT NULL THEN jsonb_build_object('unread', u.unread) END, NULL, NULL FROM unread AS u
