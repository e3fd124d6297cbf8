-- The tables as the engine for Python makes them. The engine for Elixir has no producers, and the errors of a job are an array of
-- jsonb there.
CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'suspended', 'executing', 'retryable', 'completed', 'discarded', 'cancelled');

CREATE TABLE oban_jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  state oban_job_state NOT NULL DEFAULT 'available',
  queue text NOT NULL DEFAULT 'default' CONSTRAINT queue_length CHECK (char_length(queue) > 0),
  worker text NOT NULL CONSTRAINT worker_length CHECK (char_length(worker) > 0),
  attempt smallint NOT NULL DEFAULT 0,
  max_attempts smallint NOT NULL DEFAULT 20 CONSTRAINT positive_max_attempts CHECK (max_attempts > 0),
  priority smallint NOT NULL DEFAULT 0 CONSTRAINT non_negative_priority CHECK (priority >= 0),
  args jsonb NOT NULL DEFAULT '{}',
  meta jsonb NOT NULL DEFAULT '{}',
  tags text[] NOT NULL DEFAULT '{}',
  errors jsonb NOT NULL DEFAULT '[]',
  attempted_by text[] NOT NULL DEFAULT '{}',
  inserted_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
  scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
  attempted_at timestamp,
  cancelled_at timestamp,
  completed_at timestamp,
  discarded_at timestamp,
  CONSTRAINT attempt_range CHECK (attempt BETWEEN 0 AND max_attempts)
);
CREATE INDEX oban_jobs_state_queue_priority_scheduled_at_id_index ON oban_jobs (state, queue, priority, scheduled_at, id);
CREATE INDEX oban_jobs_staging_index ON oban_jobs (scheduled_at, id) INCLUDE (queue) WHERE state IN ('scheduled', 'retryable');
CREATE INDEX oban_jobs_completed_at_index ON oban_jobs (completed_at) WHERE state = 'completed';
CREATE INDEX oban_jobs_cancelled_at_index ON oban_jobs (cancelled_at) WHERE state = 'cancelled';
CREATE INDEX oban_jobs_discarded_at_index ON oban_jobs (discarded_at) WHERE state = 'discarded';

CREATE UNLOGGED TABLE oban_leaders (
  name text PRIMARY KEY DEFAULT 'oban',
  node text NOT NULL,
  elected_at timestamp NOT NULL,
  expires_at timestamp NOT NULL
);

CREATE UNLOGGED TABLE oban_producers (
  uuid uuid PRIMARY KEY,
  name text NOT NULL DEFAULT 'oban',
  node text NOT NULL,
  queue text NOT NULL,
  meta jsonb NOT NULL DEFAULT '{}',
  started_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
  updated_at timestamp NOT NULL DEFAULT timezone('UTC', now())
);
