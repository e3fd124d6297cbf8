-- A task's row for the audit log, with size and digest of state and output, which may be very large. The columns are
-- listed by name: removing a key from the JSON of the whole row would first serialise the large values.
       row_to_json((SELECT r FROM (
         SELECT t.task_id, t.job_id, t.kind, t.kind_version, t.created_at, t.polled_at, t.revision, t.status, t.cpu_duration,
                t.poll_duration, octet_length(t.state) || ' bytes, md5 ' || md5(t.state) AS state,
                octet_length(t.output) || ' bytes, md5 ' || md5(t.output) AS output) AS r)) AS row
