-- The audit log: who did what to which rows, when, why, and with which outcome. One row per transaction.
-- The server fills in time, role, transaction and hash. An operator may only add and read rows.
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
  changes     json NOT NULL -- json, not jsonb: always read as a whole, and a large value is written twice as fast
);

-- The hash chain; decision 6 explains it. Entries from before these columns have no hash.
ALTER TABLE unstick.audit_log
  ADD COLUMN IF NOT EXISTS previous text[], -- the heads that the entry follows, each as id:digest
  ADD COLUMN IF NOT EXISTS seen pg_snapshot, -- tells which entries were visible then
  ADD COLUMN IF NOT EXISTS images_digest text, -- of the images in audit_images, which may be removed earlier
  ADD COLUMN IF NOT EXISTS digest text;

-- It runs as the table's owner, because a role may have INSERT alone. It waits for no other writer: writers at the same
-- time follow the same heads, and the next entry follows them all.
CREATE OR REPLACE FUNCTION unstick.audit_log_chain() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- One statement, so that heads and snapshot are of the same moment.
  WITH newest AS MATERIALIZED (
    SELECT l.id, l.id || ':' || l.digest AS head, l.previous
      FROM unstick.audit_log l WHERE l.id < NEW.id ORDER BY l.id DESC LIMIT 100 -- a later id may have been committed first
  )
  SELECT coalesce(array_agg(n.head ORDER BY n.id), '{}'), pg_current_snapshot() INTO NEW.previous, NEW.seen
    FROM newest n WHERE n.head IS NOT NULL AND n.head NOT IN (SELECT h FROM newest p CROSS JOIN unnest(p.previous) AS h);
  -- parts/entries.sql has the same hash of each entry.
  SELECT encode(sha256(convert_to((jsonb_build_array(
      l.id, extract(epoch FROM l.at), l.role, l.xid::text, l.os_user, l.host, l.application, l.engine, l.schema, l.action, l.reason,
      l.arguments, l.results, encode(sha256(convert_to(l.changes::text, 'UTF8')), 'hex'), l.previous, l.seen::text)
      || CASE WHEN l.images_digest IS NULL THEN '[]' ELSE jsonb_build_array(l.images_digest) END)::text, 'UTF8')), 'hex')
    INTO NEW.digest FROM (SELECT NEW.*) AS l;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER audit_log_chain BEFORE INSERT ON unstick.audit_log FOR EACH ROW EXECUTE FUNCTION unstick.audit_log_chain();

-- What an undo restores: the overwritten and deleted values as text. In a table of its own, because it may be removed earlier
-- than the log. An entry without images cannot be undone. The entry that begins a run has the list of its nodes here.
CREATE TABLE IF NOT EXISTS unstick.audit_images (
  entry  bigint PRIMARY KEY REFERENCES unstick.audit_log (id) ON DELETE CASCADE,
  images json NOT NULL
);

-- The hash of an entry covers that of its images. Images are written together with their entry; later ones are refused.
CREATE OR REPLACE FUNCTION unstick.audit_images_chain() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM unstick.audit_log l
                  WHERE l.id = NEW.entry AND l.xid = pg_current_xact_id() AND l.images_digest IS NOT NULL) THEN
    RAISE EXCEPTION 'entry % is not of this transaction', NEW.entry USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER audit_images_chain BEFORE INSERT ON unstick.audit_images FOR EACH ROW EXECUTE FUNCTION unstick.audit_images_chain();

-- The rows of a part of 500 nodes are half a megabyte, and compressing them is most of the cost of an entry. lz4 takes a
-- tenth of the time for the same size. A server that was built without lz4 keeps its default.
DO $$
BEGIN
  ALTER TABLE unstick.audit_log ALTER results SET COMPRESSION lz4, ALTER changes SET COMPRESSION lz4;
  ALTER TABLE unstick.audit_images ALTER images SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
END $$;

-- The entries of a run, one for each transaction and event, and the beginnings of all runs, which name no id.
CREATE INDEX IF NOT EXISTS audit_log_run_idx ON unstick.audit_log ((arguments #>> '{run,id}'), id) WHERE arguments ? 'run';

CREATE INDEX IF NOT EXISTS audit_log_results_idx ON unstick.audit_log USING gin (results jsonb_path_ops);

-- A restored dump or a manual change may have set the sequence of ids back. The next entry would have the id of an old one.
DO $$
BEGIN
  PERFORM setval('unstick.audit_log_id_seq', max(l.id)) FROM unstick.audit_log l
   HAVING max(l.id) > (SELECT s.last_value FROM unstick.audit_log_id_seq s);
END $$;

COMMENT ON TABLE unstick.audit_log IS 'Actions of operators through unstick; append-only for operators.';
COMMENT ON TABLE unstick.audit_images IS 'Exact values that actions overwrote or deleted, for unstick undo; append-only for operators.';
