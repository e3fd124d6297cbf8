-- Jobs by id or dedupe key, schedules by id, entrypoints by name.
-- query: a number, or a text
-- Indexes: pgqueuer_pkey, pgqueuer_schedules_pkey, pgqueuer_unique_dedupe_key; pgqueuer_ep_ea_idx, in whose order the next name is
-- read: for the first row of a name PostgreSQL may scan the table, because it expects few other rows before it.
SELECT f.id, f.matched
  FROM ((SELECT 'job:' || j.id AS id, 'id' AS matched, 1 AS place FROM :"schema".:"pgqueuer" j
          WHERE j.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END)
        UNION ALL
        (SELECT 'schedule:' || s.id, 'id', 2 FROM :"schema".:"pgqueuer_schedules" s
          WHERE s.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END)
        UNION ALL
        SELECT 'entrypoint:' || e.entrypoint, 'id', 3
          FROM (SELECT j.entrypoint FROM :"schema".:"pgqueuer" j WHERE j.status = 'queued' AND j.entrypoint >= :query
                 ORDER BY j.entrypoint LIMIT 1) AS e
         WHERE e.entrypoint = :query
        UNION ALL
        (SELECT 'job:' || j.id, 'reference', 4 FROM :"schema".:"pgqueuer" j
          WHERE j.status IN ('queued', 'picked') AND j.dedupe_key IS NOT NULL AND j.dedupe_key = :query LIMIT 1)) AS f
 ORDER BY f.place
 LIMIT :limit
