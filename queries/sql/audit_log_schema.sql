-- The audit log: who did what to which rows, when, why, and with which outcome. One row per transaction.
-- The server fills in time, role and transaction. An operator may only add and read rows.
CREATE SCHEMA IF NOT EXISTS unstick;

CREATE TABLE IF NOT EXISTS unstick.audit_log (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  role        text NOT NULL DEFAULT session_user,
  xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
  os_user     text NOT NULL,
  host        text NOT NULL,
  application text NOT NULL,
  engine      text NOT NULL,
  schema      text NOT NULL,
  action      text NOT NULL,
  reason      text NOT NULL CHECK (reason <> ''),
  arguments   jsonb NOT NULL,
  results     jsonb NOT NULL,
  changes     json NOT NULL -- json, not jsonb: always read as a whole, and a large chunk is written twice as fast
);

-- The rows of a chunk of 500 nodes are half a megabyte, and compressing them is most of the cost of an entry. lz4 takes a
-- tenth of the time for the same size. A server that was built without lz4 keeps its default.
DO $$
BEGIN
  ALTER TABLE unstick.audit_log ALTER results SET COMPRESSION lz4, ALTER changes SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
END $$;

CREATE INDEX IF NOT EXISTS audit_log_results_idx ON unstick.audit_log USING gin (results jsonb_path_ops);

COMMENT ON TABLE unstick.audit_log IS 'Actions of operators through unstick; append-only for operators.';
