-- Rows number 1 to large.rows: a third due, a third asleep, a third suspended; every tenth is held, every
-- twelfth has a parent that exists, the others random ones. Rows beyond
-- large.live are idle and asleep or suspended; up to there no class is rare. The newest are alike in tables of 45,000 and
-- 180,000 rows.
INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, inbox, inbox_next, heartbeat)
SELECT lpad(to_hex(((1e10::int8 + n) << 23)), 16, '0')::macaddr8, CASE WHEN n % 5 = 0 THEN 32767 ELSE 1 + n % 4 END,
       CASE WHEN n % 12 = 0 THEN lpad(to_hex(((1e10::int8 + n - n % 1200) << 23)), 16, '0')::macaddr8
            ELSE ('f' || left(md5('parent ' || n), 15))::macaddr8 END,
       '{"messages_processed":1}',
       CASE WHEN n % 3 = 0 AND n <= current_setting('large.live')::int8 THEN now() - make_interval(secs => 60 + n)
            WHEN n % 3 < 2 THEN now() + make_interval(secs => 3600 + n) END,
       CASE WHEN n % 7 = 0 THEN ARRAY['["00:00:00:00:00:00:00:00", {"type":"queued"}]'::json] END,
       CASE WHEN n % 90 = 0 THEN ARRAY['["00:00:00:00:00:00:00:00", {"type":"queued"}]'::json] END,
       CASE WHEN n % 10 = 0 AND n <= current_setting('large.live')::int8 THEN now() - make_interval(secs => n % 3000) ELSE '0001-01-01T00:00:00Z' END
  FROM generate_series(1, current_setting('large.rows')::int8) AS n;
