(p.id IS NULL OR p.last_heartbeat_at < timezone('UTC', now()) - :alive)
