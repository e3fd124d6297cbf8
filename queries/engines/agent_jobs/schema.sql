-- The known tables of the engine, for the demo and the tests.
-- All objects are created in the first schema of the search_path. Parameters: none.
--
-- Known: jobs with its indexes and constraints; the name of an agent, and that deleting an agent deletes its jobs.
-- The original's ids default to uuid_generate_v4() of the extension uuid-ossp; gen_random_uuid() needs no extension.
-- No trigger maintains updated_at: each writer sets it. The foreign key of jobs may be missing, because the set-up of
-- agents drops (CASCADE) and creates agents again, but not jobs.

CREATE TYPE agent_profile AS (name varchar(255), "group" varchar(255), description text, contexts text[]);

CREATE TABLE agents (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL,
    profile agent_profile NOT NULL,
    avatar_image bytea,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- Tracks the lifecycle and execution status of agent tasks
CREATE TABLE IF NOT EXISTS jobs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- External job identifier: the number of a job in its queue, as text
    job_id varchar(255) NOT NULL UNIQUE,
    -- Agent executing this job
    agent_id uuid NOT NULL,
    -- User who initiated or owns this job
    user_id uuid NOT NULL,
    status varchar(50) NOT NULL DEFAULT 'pending',
    CONSTRAINT jobs_status_chk CHECK (status IN ('pending', 'active', 'completed', 'failed', 'delayed', 'paused')),
    -- Error information for failed jobs
    error text,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    started_at timestamptz,
    completed_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT jobs_time_order_chk CHECK (
        (started_at IS NULL OR started_at >= created_at)
        AND (completed_at IS NULL OR completed_at >= COALESCE(started_at, created_at))
    ),
    FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS idx_jobs_agent_id_created_at ON jobs (agent_id, created_at DESC);
CREATE INDEX IF NOT EXISTS idx_jobs_user_status_created_at ON jobs (user_id, status, created_at DESC);
