       CASE WHEN j.finished_at IS NOT NULL THEN 'finished' WHEN r.id IS NOT NULL THEN 'ready' WHEN c.id IS NOT NULL THEN 'claimed'
            WHEN f.id IS NOT NULL THEN 'failed' WHEN b.id IS NOT NULL THEN 'blocked' WHEN s.id IS NOT NULL THEN 'scheduled'
            ELSE 'no execution' END
