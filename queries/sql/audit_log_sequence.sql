-- The last id that the sequence of the audit log gave. A sequence writes 32 ids to the WAL in advance, so after a crash or a
-- failover it may have skipped as many: `log_cnt` is 0 then. That is so too after each 32nd id.
SELECT CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END AS last, s.log_cnt > 0 AND NOT pg_is_in_recovery() AS exact
  FROM unstick.audit_log_id_seq s
