-- The job j may be released: no worker is connected that began before the job was locked, or it is locked for long.
       (j.locked_at < (SELECT s.oldest FROM sessions s) AND j.locked_at < now() - :worker_lost
        OR j.locked_at < now() - :locked_too_long)
