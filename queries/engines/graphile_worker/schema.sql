-- The tables of graphile-worker 0.16 to 0.18, with its indexes and constraints, for tests and the check of engines. Described
-- from its catalog, which a test compares. The engine also enables row-level security without a policy, so that only the owner
-- of the tables, or a role with BYPASSRLS, sees rows; here, privileges alone decide.
-- All objects are created in the first schema of the search_path. Parameters: none.

CREATE TABLE migrations (
    id integer PRIMARY KEY,
    ts timestamptz NOT NULL DEFAULT now(),
    breaking boolean NOT NULL DEFAULT false
);

CREATE TABLE _private_job_queues (
    id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT job_queues_pkey1 PRIMARY KEY,
    queue_name text NOT NULL CONSTRAINT job_queues_queue_name_key UNIQUE,
    locked_at timestamptz,
    locked_by text,
    is_available boolean NOT NULL GENERATED ALWAYS AS (locked_at IS NULL) STORED,
    CONSTRAINT job_queues_queue_name_check CHECK (length(queue_name) <= 128)
);

CREATE TABLE _private_tasks (
    id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT tasks_pkey PRIMARY KEY,
    identifier text NOT NULL CONSTRAINT tasks_identifier_key UNIQUE,
    CONSTRAINT tasks_identifier_check CHECK (length(identifier) <= 128)
);

CREATE TABLE _private_jobs (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT jobs_pkey1 PRIMARY KEY,
    job_queue_id integer,
    task_id integer NOT NULL,
    payload json NOT NULL DEFAULT '{}',
    priority smallint NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL DEFAULT 25,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    key text CONSTRAINT jobs_key_key1 UNIQUE,
    locked_at timestamptz,
    locked_by text,
    revision integer NOT NULL DEFAULT 0,
    flags jsonb,
    is_available boolean NOT NULL GENERATED ALWAYS AS (locked_at IS NULL AND attempts < max_attempts) STORED,
    CONSTRAINT jobs_max_attempts_check CHECK (max_attempts >= 1),
    CONSTRAINT jobs_key_check CHECK (length(key) > 0 AND length(key) <= 512)
);
CREATE INDEX jobs_main_index ON _private_jobs (priority, run_at) INCLUDE (id, task_id, job_queue_id) WHERE is_available = true;
CREATE INDEX jobs_no_queue_index ON _private_jobs (priority, run_at) INCLUDE (id, task_id) WHERE is_available = true AND job_queue_id IS NULL;

CREATE TABLE _private_known_crontabs (
    identifier text CONSTRAINT known_crontabs_pkey PRIMARY KEY,
    known_since timestamptz NOT NULL,
    last_execution timestamptz
);
