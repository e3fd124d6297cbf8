-- The 13 tables, as the engine's migrations describe them, with the indexes that it needs. Unique indexes have the engine's names.
CREATE TABLE solid_queue_jobs (
  id bigserial PRIMARY KEY,
  queue_name varchar NOT NULL,
  class_name varchar NOT NULL,
  arguments text,
  priority integer NOT NULL DEFAULT 0,
  active_job_id varchar,
  scheduled_at timestamp,
  finished_at timestamp,
  concurrency_key varchar,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  batch_id bigint
);
CREATE INDEX ON solid_queue_jobs (active_job_id);
CREATE INDEX ON solid_queue_jobs (class_name);
CREATE INDEX ON solid_queue_jobs (finished_at);
CREATE INDEX ON solid_queue_jobs (queue_name, finished_at);
CREATE INDEX ON solid_queue_jobs (scheduled_at, finished_at);

CREATE TABLE solid_queue_ready_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_ready_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  queue_name varchar NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  created_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_ready_executions (priority, job_id);
CREATE INDEX ON solid_queue_ready_executions (queue_name, priority, job_id);

CREATE TABLE solid_queue_claimed_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_claimed_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  process_id bigint,
  created_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_claimed_executions (process_id, job_id);

CREATE TABLE solid_queue_scheduled_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_scheduled_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  queue_name varchar NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  scheduled_at timestamp NOT NULL,
  created_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_scheduled_executions (scheduled_at, priority, job_id);

CREATE TABLE solid_queue_blocked_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_blocked_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  queue_name varchar NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  concurrency_key varchar NOT NULL,
  expires_at timestamp NOT NULL,
  created_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_blocked_executions (concurrency_key, priority, job_id);
CREATE INDEX ON solid_queue_blocked_executions (expires_at, concurrency_key);

CREATE TABLE solid_queue_failed_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_failed_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  error text,
  created_at timestamp NOT NULL
);

CREATE TABLE solid_queue_processes (
  id bigserial PRIMARY KEY,
  kind varchar NOT NULL,
  last_heartbeat_at timestamp NOT NULL,
  supervisor_id bigint,
  pid integer NOT NULL,
  hostname varchar,
  metadata text,
  created_at timestamp NOT NULL,
  name varchar NOT NULL
);
CREATE INDEX ON solid_queue_processes (last_heartbeat_at);
CREATE UNIQUE INDEX index_solid_queue_processes_on_name_and_supervisor_id ON solid_queue_processes (name, supervisor_id);
CREATE INDEX ON solid_queue_processes (supervisor_id);

CREATE TABLE solid_queue_semaphores (
  id bigserial PRIMARY KEY,
  key varchar NOT NULL CONSTRAINT index_solid_queue_semaphores_on_key UNIQUE,
  value integer NOT NULL DEFAULT 1,
  expires_at timestamp NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_semaphores (expires_at);
CREATE INDEX ON solid_queue_semaphores (key, value);

CREATE TABLE solid_queue_pauses (
  id bigserial PRIMARY KEY,
  queue_name varchar NOT NULL CONSTRAINT index_solid_queue_pauses_on_queue_name UNIQUE,
  created_at timestamp NOT NULL
);

CREATE TABLE solid_queue_recurring_tasks (
  id bigserial PRIMARY KEY,
  key varchar NOT NULL CONSTRAINT index_solid_queue_recurring_tasks_on_key UNIQUE,
  schedule varchar NOT NULL,
  command varchar(2048),
  class_name varchar,
  arguments text,
  queue_name varchar,
  priority integer DEFAULT 0,
  static boolean NOT NULL DEFAULT true,
  description text,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_recurring_tasks (static);

CREATE TABLE solid_queue_recurring_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_recurring_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  task_key varchar NOT NULL,
  run_at timestamp NOT NULL,
  created_at timestamp NOT NULL,
  CONSTRAINT index_solid_queue_recurring_executions_on_task_key_and_run_at UNIQUE (task_key, run_at)
);

CREATE TABLE solid_queue_batches (
  id bigserial PRIMARY KEY,
  active_job_batch_id varchar CONSTRAINT index_solid_queue_batches_on_active_job_batch_id UNIQUE,
  description varchar,
  on_finish text,
  on_success text,
  on_failure text,
  metadata text,
  total_jobs integer NOT NULL DEFAULT 0,
  completed_jobs integer NOT NULL DEFAULT 0,
  failed_jobs integer NOT NULL DEFAULT 0,
  enqueued_at timestamp,
  finished_at timestamp,
  failed_at timestamp,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL
);

CREATE TABLE solid_queue_batch_executions (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL CONSTRAINT index_solid_queue_batch_executions_on_job_id UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
  batch_id bigint NOT NULL REFERENCES solid_queue_batches ON DELETE CASCADE,
  created_at timestamp NOT NULL
);
CREATE INDEX ON solid_queue_batch_executions (batch_id);
