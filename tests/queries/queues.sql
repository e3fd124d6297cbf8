-- Task tables of known projects, restated in small, and home-made ones: schema.table, then rows of each state. The columns of
-- `all` are in every row. @-3h is a moment, @ms-3h milliseconds since 1970, @s-3h seconds. The number of rows is that of `COUNTS`.

-- river.river_job
CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available', attempt int2 NOT NULL DEFAULT 0, max_attempts int2 NOT NULL, attempted_at timestamptz, created_at timestamptz NOT NULL DEFAULT now(), finalized_at timestamptz, scheduled_at timestamptz NOT NULL DEFAULT now(), priority int2 NOT NULL DEFAULT 1, args jsonb NOT NULL DEFAULT '{}', attempted_by text[], errors jsonb[], kind text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', queue text NOT NULL DEFAULT 'default');
-- all: kind='mail' max_attempts=25
-- done: state='completed' attempt=1 attempted_at=@-2h finalized_at=@-2h attempted_by='{w1}' scheduled_at=@-2h
-- failed: state='discarded' attempt=25 attempted_at=@-1h finalized_at=@-1h attempted_by='{w1}' errors=ARRAY['{"error":"timeout"}'::jsonb]
-- stuck: state='running' attempt=1 attempted_at=@-3h attempted_by='{w1}' scheduled_at=@-3h
-- running: state='running' attempt=1 attempted_at=@-1m attempted_by='{w2}' scheduled_at=@-1m
-- late: scheduled_at=@-40m
-- later: state='scheduled' scheduled_at=@+1d

-- pgboss.job
CREATE TYPE job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
CREATE TABLE job (id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL, priority int NOT NULL DEFAULT 0, data jsonb, state job_state NOT NULL DEFAULT 'created', retry_limit int NOT NULL DEFAULT 2, retry_count int NOT NULL DEFAULT 0, start_after timestamptz NOT NULL DEFAULT now(), started_on timestamptz, singleton_key text, expire_seconds int NOT NULL DEFAULT 900, created_on timestamptz NOT NULL DEFAULT now(), completed_on timestamptz, keep_until timestamptz NOT NULL DEFAULT now() + '14 days', output jsonb, dead_letter text, PRIMARY KEY (name, id));
-- all: name='mail' data='{}'
-- done: state='completed' started_on=@-2h completed_on=@-2h start_after=@-2h
-- failed: state='failed' started_on=@-1h completed_on=@-1h retry_count=2 output='{"message": "timeout"}' start_after=@-2h
-- stuck: state='active' started_on=@-3h start_after=@-3h
-- running: state='active' started_on=@-1m start_after=@-1m
-- late: start_after=@-40m
-- later: start_after=@+1d

-- goodjob.good_jobs
CREATE TABLE good_jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), queue_name text, priority int, serialized_params jsonb, scheduled_at timestamp, performed_at timestamp, finished_at timestamp, error text, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(), active_job_id uuid, concurrency_key text, is_discrete bool DEFAULT true, executions_count int, job_class text, error_event int2, labels text[], locked_by_id uuid, locked_at timestamp);
-- all: queue_name='default' job_class='MailJob' serialized_params='{}' active_job_id=gen_random_uuid() priority=0
-- done: scheduled_at=@-2h performed_at=@-2h finished_at=@-2h executions_count=1
-- failed: scheduled_at=@-1h performed_at=@-1h finished_at=@-1h error='Net::Timeout' executions_count=5
-- stuck: scheduled_at=@-3h performed_at=@-3h locked_at=@-3h locked_by_id='00000000-0000-4000-8000-000000000001' executions_count=1
-- running: scheduled_at=@-1m performed_at=@-1m locked_at=@-1m locked_by_id='00000000-0000-4000-8000-000000000002' executions_count=1
-- late: scheduled_at=@-40m
-- later: scheduled_at=@+1d

-- que.que_jobs
CREATE TABLE que_jobs (priority int2 NOT NULL DEFAULT 100, run_at timestamptz NOT NULL DEFAULT now(), id bigserial PRIMARY KEY, job_class text NOT NULL, error_count int NOT NULL DEFAULT 0, last_error_message text, queue text NOT NULL DEFAULT 'default', last_error_backtrace text, finished_at timestamptz, expired_at timestamptz, args jsonb NOT NULL DEFAULT '[]', data jsonb NOT NULL DEFAULT '{}', job_schema_version int NOT NULL DEFAULT 2, kwargs jsonb NOT NULL DEFAULT '{}');
-- all: job_class='MailJob'
-- done: run_at=@-2h finished_at=@-2h
-- failed: run_at=@-1h expired_at=@-1h error_count=15 last_error_message='timeout'
-- stuck: run_at=@-3h
-- running: run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- delayed.delayed_jobs
CREATE TABLE delayed_jobs (id bigserial PRIMARY KEY, priority int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, handler text NOT NULL, last_error text, run_at timestamp, locked_at timestamp, failed_at timestamp, locked_by varchar, queue varchar, created_at timestamp, updated_at timestamp);
-- all: handler='--- !ruby/object:Mail' created_at=@-1d
-- failed: attempts=25 last_error='timeout' failed_at=@-1h run_at=@-1h
-- stuck: locked_at=@-3h locked_by='host:a pid:1' run_at=@-3h
-- running: locked_at=@-1m locked_by='host:a pid:2' run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- laravel.jobs
CREATE TABLE jobs (id bigserial PRIMARY KEY, queue varchar(255) NOT NULL, payload text NOT NULL, attempts int2 NOT NULL, reserved_at int, available_at int NOT NULL, created_at int NOT NULL);
-- all: queue='default' payload='{}' created_at=@s-1d
-- stuck: attempts=1 reserved_at=@s-3h available_at=@s-3h
-- running: attempts=1 reserved_at=@s-1m available_at=@s-1m
-- late: attempts=0 available_at=@s-40m
-- later: attempts=0 available_at=@s+1d

-- symfony.messenger_messages
CREATE TABLE messenger_messages (id bigserial PRIMARY KEY, body text NOT NULL, headers text NOT NULL, queue_name varchar(190) NOT NULL, created_at timestamp NOT NULL, available_at timestamp NOT NULL, delivered_at timestamp);
-- all: body='{}' headers='[]' queue_name='default' created_at=@-1d
-- stuck: available_at=@-3h delivered_at=@-3h
-- running: available_at=@-1m delivered_at=@-1m
-- late: available_at=@-40m
-- later: available_at=@+1d

-- dbscheduler.scheduled_tasks
CREATE TABLE scheduled_tasks (task_name text NOT NULL, task_instance text NOT NULL, task_data bytea, execution_time timestamptz NOT NULL, picked bool NOT NULL, picked_by text, last_success timestamptz, last_failure timestamptz, consecutive_failures int, last_heartbeat timestamptz, version int8 NOT NULL DEFAULT 1, priority int2, PRIMARY KEY (task_name, task_instance));
-- all: task_name='mail' task_instance='m'||n task_data='x'
-- stuck: execution_time=@-3h picked=true picked_by='a' last_heartbeat=@-3h
-- running: execution_time=@-1m picked=true picked_by='b' last_heartbeat=@-1m
-- late: execution_time=@-40m picked=false
-- later: execution_time=@+1d picked=false

-- quartz.qrtz_triggers
CREATE TABLE qrtz_triggers (sched_name varchar(120) NOT NULL, trigger_name varchar(200) NOT NULL, trigger_group varchar(200) NOT NULL, job_name varchar(200) NOT NULL, job_group varchar(200) NOT NULL, description varchar(250), next_fire_time int8, prev_fire_time int8, priority int, trigger_state varchar(16) NOT NULL, trigger_type varchar(8) NOT NULL, start_time int8 NOT NULL, end_time int8, calendar_name varchar(200), misfire_instr int2, job_data bytea, PRIMARY KEY (sched_name, trigger_name, trigger_group));
-- all: sched_name='s' trigger_name='t'||n trigger_group='DEFAULT' job_name='mail' job_group='DEFAULT' trigger_type='SIMPLE' start_time=@ms-1d job_data=''
-- failed: trigger_state='ERROR' next_fire_time=@ms-1h
-- stuck: trigger_state='ACQUIRED' next_fire_time=@ms-3h
-- running: trigger_state='ACQUIRED' next_fire_time=@ms-1m
-- late: trigger_state='WAITING' next_fire_time=@ms-40m
-- later: trigger_state='WAITING' next_fire_time=@ms+1d

-- jobrunr.jobrunr_jobs
CREATE TABLE jobrunr_jobs (id char(36) PRIMARY KEY, version int NOT NULL, jobasjson text NOT NULL, jobsignature varchar(512) NOT NULL, state varchar(36) NOT NULL, createdat timestamp NOT NULL, updatedat timestamp NOT NULL, scheduledat timestamp, recurringjobid varchar(128));
-- all: id=gen_random_uuid()::text version=1 jobsignature='Mail.send()' createdat=@-1d
-- done: state='SUCCEEDED' updatedat=@-2h jobasjson='{"state": "SUCCEEDED"}'
-- failed: state='FAILED' updatedat=@-1h jobasjson='{"state": "FAILED"}'
-- stuck: state='PROCESSING' updatedat=@-3h jobasjson='{"state": "PROCESSING"}'
-- running: state='PROCESSING' updatedat=@-1m jobasjson='{"state": "PROCESSING"}'
-- late: state='ENQUEUED' updatedat=@-40m jobasjson='{"state": "ENQUEUED"}'
-- later: state='SCHEDULED' scheduledat=@+1d updatedat=@-1h jobasjson='{"state": "SCHEDULED"}'

-- hangfire.job
CREATE TABLE job (id bigserial PRIMARY KEY, stateid int8, statename text, invocationdata jsonb NOT NULL, arguments jsonb NOT NULL, createdat timestamptz NOT NULL, expireat timestamptz, updatecount int NOT NULL DEFAULT 0);
-- all: invocationdata='{}' arguments='[]' createdat=@-1d stateid=i
-- done: statename='Succeeded' expireat=@+1d
-- failed: statename='Failed'
-- stuck: statename='Processing'
-- running: statename='Processing'
-- late: statename='Enqueued'
-- later: statename='Scheduled'

-- dbos.workflow_status
CREATE TABLE workflow_status (workflow_uuid text PRIMARY KEY, status text, name text, authenticated_user text, inputs text, output text, error text, executor_id text, created_at int8 NOT NULL, updated_at int8 NOT NULL, application_version text, recovery_attempts int8 DEFAULT 0, queue_name text, workflow_timeout_ms int8, started_at_epoch_ms int8, priority int NOT NULL DEFAULT 0, parent_workflow_id text);
-- all: workflow_uuid=gen_random_uuid()::text name='mail' inputs='{}' created_at=@ms-1d updated_at=@ms-1h queue_name='q'
-- done: status='SUCCESS' executor_id='e1' started_at_epoch_ms=@ms-2h output='{}'
-- failed: status='ERROR' executor_id='e1' started_at_epoch_ms=@ms-1h error='timeout'
-- stuck: status='PENDING' executor_id='e1' started_at_epoch_ms=@ms-3h
-- running: status='PENDING' executor_id='e2' started_at_epoch_ms=@ms-1m
-- late: status='ENQUEUED'

-- odoo.queue_job
CREATE TABLE queue_job (id serial PRIMARY KEY, uuid varchar NOT NULL, name varchar, state varchar, priority int, exc_name varchar, exc_message varchar, exc_info text, company_id int, model_name varchar, method_name varchar, args text, kwargs text, user_id int, date_created timestamp, date_enqueued timestamp, date_started timestamp, date_done timestamp, eta timestamp, retry int, max_retries int, channel varchar, identity_key varchar, worker_pid int);
-- all: uuid=gen_random_uuid()::text name='mail' model_name='res.partner' method_name='send' args='[]' date_created=@-1d max_retries=5 channel='root' retry=0
-- done: state='done' date_enqueued=@-2h date_started=@-2h date_done=@-2h worker_pid=7
-- failed: state='failed' date_enqueued=@-1h date_started=@-1h date_done=@-1h exc_info='Traceback' exc_name='Timeout' retry=5 worker_pid=7
-- stuck: state='started' date_enqueued=@-3h date_started=@-3h worker_pid=7
-- running: state='started' date_enqueued=@-1m date_started=@-1m worker_pid=8
-- late: state='pending' eta=@-40m
-- later: state='pending' eta=@+1d

-- celery.celery_taskmeta
CREATE TABLE celery_taskmeta (id int PRIMARY KEY, task_id varchar(155) UNIQUE, status varchar(50), result bytea, date_done timestamp, traceback text, name varchar(155), args bytea, kwargs bytea, worker varchar(155), retries int, queue varchar(155));
-- all: id=n task_id=gen_random_uuid()::text name='mail' args='' worker='w1' queue='celery' retries=0
-- done: status='SUCCESS' date_done=@-2h result='x'
-- failed: status='FAILURE' date_done=@-1h traceback='Traceback'
-- running: status='STARTED' date_done=@-1m

-- djangotasks.django_tasks_database_dbtaskresult
CREATE TABLE django_tasks_database_dbtaskresult (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), status varchar(10) NOT NULL, enqueued_at timestamptz NOT NULL, finished_at timestamptz, args_kwargs jsonb NOT NULL, priority int NOT NULL, task_path text NOT NULL, queue_name varchar(32) NOT NULL, backend_name varchar(32) NOT NULL, run_after timestamptz, return_value jsonb, exception_class_path text NOT NULL, traceback text NOT NULL, started_at timestamptz, worker_ids jsonb NOT NULL);
-- all: args_kwargs='{}' priority=0 task_path='mail.send' queue_name='default' backend_name='default' enqueued_at=@-1d
-- done: status='SUCCEEDED' started_at=@-2h finished_at=@-2h exception_class_path='' traceback='' worker_ids='["w"]'
-- failed: status='FAILED' started_at=@-1h finished_at=@-1h exception_class_path='Timeout' traceback='Traceback' worker_ids='["w"]'
-- stuck: status='RUNNING' started_at=@-3h exception_class_path='' traceback='' worker_ids='["w"]'
-- running: status='RUNNING' started_at=@-1m exception_class_path='' traceback='' worker_ids='["v"]'
-- late: status='READY' run_after=@-40m exception_class_path='' traceback='' worker_ids='[]'
-- later: status='READY' run_after=@+1d exception_class_path='' traceback='' worker_ids='[]'

-- minion.minion_jobs
CREATE TABLE minion_jobs (id bigserial PRIMARY KEY, args jsonb NOT NULL, attempts int NOT NULL DEFAULT 1, created timestamptz NOT NULL DEFAULT now(), delayed timestamptz NOT NULL, finished timestamptz, notes jsonb NOT NULL DEFAULT '{}', parents int8[] NOT NULL DEFAULT '{}', priority int NOT NULL, queue text NOT NULL DEFAULT 'default', result jsonb, retried timestamptz, retries int NOT NULL DEFAULT 0, started timestamptz, state text NOT NULL DEFAULT 'inactive', task text NOT NULL, worker int8, expires timestamptz, lax bool NOT NULL DEFAULT false);
-- all: args='[]' priority=0 task='mail'
-- done: delayed=@-2h started=@-2h finished=@-2h state='finished' worker=1
-- failed: delayed=@-1h started=@-1h finished=@-1h state='failed' worker=1 result='"timeout"'
-- stuck: delayed=@-3h started=@-3h state='active' worker=1
-- running: delayed=@-1m started=@-1m state='active' worker=2
-- late: delayed=@-40m
-- later: delayed=@+1d

-- windmill.v2_job_queue
CREATE TABLE v2_job_queue (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), workspace_id varchar(50) NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, scheduled_for timestamptz NOT NULL, running bool NOT NULL DEFAULT false, canceled_by varchar(255), canceled_reason text, suspend int NOT NULL DEFAULT 0, worker varchar(255), priority int2, tag varchar(255) NOT NULL DEFAULT 'other');
-- all: workspace_id='main'
-- stuck: started_at=@-3h scheduled_for=@-3h running=true worker='w1'
-- running: started_at=@-1m scheduled_for=@-1m running=true worker='w2'
-- late: scheduled_for=@-40m
-- later: scheduled_for=@+1d

-- hasura.event_log
CREATE TABLE event_log (id text PRIMARY KEY DEFAULT gen_random_uuid()::text, schema_name text NOT NULL, table_name text NOT NULL, trigger_name text NOT NULL, payload jsonb NOT NULL, delivered bool NOT NULL DEFAULT false, error bool NOT NULL DEFAULT false, tries int NOT NULL DEFAULT 0, created_at timestamp DEFAULT now(), locked timestamptz, next_retry_at timestamp, archived bool NOT NULL DEFAULT false);
-- all: schema_name='public' table_name='users' trigger_name='mail' payload='{}'
-- done: delivered=true tries=1
-- failed: error=true tries=5
-- stuck: locked=@-3h
-- running: locked=@-1m
-- late: created_at=@-40m
-- later: next_retry_at=@+1d tries=1

-- pgmq.q_mail
CREATE TABLE q_mail (msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct int NOT NULL DEFAULT 0, enqueued_at timestamptz NOT NULL DEFAULT now(), last_read_at timestamptz, vt timestamptz NOT NULL, message jsonb, headers jsonb);
-- all: message='{}'
-- stuck: vt=@-3h read_ct=3
-- late: vt=@-40m
-- later: vt=@+1d

-- n8n.execution_entity
CREATE TABLE execution_entity (id serial PRIMARY KEY, finished bool NOT NULL, mode varchar NOT NULL, "retryOf" varchar, "retrySuccessId" varchar, "startedAt" timestamptz, "stoppedAt" timestamptz, "waitTill" timestamptz, status varchar NOT NULL, "workflowId" varchar(36) NOT NULL, "deletedAt" timestamptz, "createdAt" timestamptz NOT NULL DEFAULT now());
-- all: mode='trigger' "workflowId"='w'
-- done: status='success' finished=true "startedAt"=@-2h "stoppedAt"=@-2h
-- failed: status='error' finished=false "startedAt"=@-1h "stoppedAt"=@-1h
-- stuck: status='running' finished=false "startedAt"=@-3h
-- running: status='running' finished=false "startedAt"=@-1m
-- late: status='new' finished=false
-- later: status='waiting' finished=false "startedAt"=@-1h "waitTill"=@+1d

-- nextcloud.oc_jobs
CREATE TABLE oc_jobs (id bigint PRIMARY KEY, class varchar(255) NOT NULL DEFAULT '', argument varchar(4000) NOT NULL DEFAULT '', last_run int DEFAULT 0, last_checked int DEFAULT 0, reserved_at int DEFAULT 0, execution_duration int DEFAULT 0, argument_hash varchar(64), time_sensitive int2 NOT NULL DEFAULT 1);
-- all: id=n class='Mail'
-- stuck: reserved_at=@s-3h last_run=@s-1d last_checked=@s-3h
-- running: reserved_at=@s-1m last_run=@s-1d last_checked=@s-1m
-- late: last_run=@s-1d last_checked=@s-40m

-- camunda.act_ru_job
CREATE TABLE act_ru_job (id_ varchar(64) PRIMARY KEY, rev_ int, type_ varchar(255) NOT NULL, lock_exp_time_ timestamp, lock_owner_ varchar(255), exclusive_ bool, execution_id_ varchar(64), process_instance_id_ varchar(64), retries_ int, exception_stack_id_ varchar(64), exception_msg_ varchar(4000), duedate_ timestamp, handler_type_ varchar(255), handler_cfg_ varchar(4000), create_time_ timestamp);
-- all: id_=n::text type_='message' rev_=1 handler_type_='mail'
-- failed: retries_=0 exception_msg_='timeout' exception_stack_id_='x'
-- stuck: retries_=3 lock_owner_='a' lock_exp_time_=@-3h duedate_=@-3h
-- running: retries_=3 lock_owner_='b' lock_exp_time_=@+5m duedate_=@-1m
-- late: retries_=3 duedate_=@-40m
-- later: retries_=3 duedate_=@+1d

-- peertube.runnerJob
CREATE TABLE "runnerJob" (id serial PRIMARY KEY, uuid uuid NOT NULL DEFAULT gen_random_uuid(), type varchar(255) NOT NULL, payload jsonb NOT NULL, "privatePayload" jsonb NOT NULL, state int NOT NULL, failures int NOT NULL DEFAULT 0, error text, priority int NOT NULL, "processingJobToken" varchar(255), progress int, "startedAt" timestamptz, "finishedAt" timestamptz, "runnerId" int, "createdAt" timestamptz NOT NULL DEFAULT now(), "updatedAt" timestamptz NOT NULL DEFAULT now());
-- all: type='vod' payload='{}' "privatePayload"='{}' priority=0
-- done: state=3 "startedAt"=@-2h "finishedAt"=@-2h "runnerId"=1
-- failed: state=4 "startedAt"=@-1h "finishedAt"=@-1h error='timeout' failures=5 "runnerId"=1
-- stuck: state=2 "startedAt"=@-3h "runnerId"=1 "processingJobToken"='t1' "updatedAt"=@-3h
-- running: state=2 "startedAt"=@-1m "runnerId"=1 "processingJobToken"='t2'
-- late: state=1 "createdAt"=@-40m

-- home1.email_outbox
CREATE TABLE email_outbox (id bigserial PRIMARY KEY, recipient text NOT NULL, subject text, body text, status text NOT NULL DEFAULT 'new', send_after timestamptz NOT NULL DEFAULT now(), picked_by text, picked_at timestamptz, tries int NOT NULL DEFAULT 0, last_error text, sent_at timestamptz);
-- all: recipient='a@b.c' subject='hi'
-- done: status='sent' sent_at=@-2h picked_by='w' picked_at=@-2h
-- failed: status='bounced' last_error='no such user' tries=5 picked_by='w' picked_at=@-1h
-- stuck: status='sending' picked_by='w1' picked_at=@-3h send_after=@-3h
-- running: status='sending' picked_by='w2' picked_at=@-1m send_after=@-1m
-- late: send_after=@-40m
-- later: send_after=@+1d

-- home2.tasks
CREATE TABLE tasks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), type text NOT NULL, payload jsonb, state int2 NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), worker_id text, started_at timestamptz, finished_at timestamptz, attempts int NOT NULL DEFAULT 0, error text);
-- all: type='thumbnail' payload='{}'
-- done: state=2 worker_id='w' started_at=@-2h finished_at=@-2h
-- failed: state=3 worker_id='w' started_at=@-1h finished_at=@-1h error='bad file' attempts=3
-- stuck: state=1 worker_id='w1' started_at=@-3h run_at=@-3h
-- running: state=1 worker_id='w2' started_at=@-1m run_at=@-1m
-- late: run_at=@-40m
-- later: run_at=@+1d

-- home3.sync_requests
CREATE TABLE sync_requests (account_id int NOT NULL, seq int NOT NULL, request jsonb, next_attempt_at timestamptz DEFAULT now(), claimed_until timestamptz, claimed_by text NOT NULL DEFAULT '', retry_count int NOT NULL DEFAULT 0, completed_at timestamptz, last_error text, PRIMARY KEY (account_id, seq));
-- all: account_id=7 seq=n request='{}'
-- done: completed_at=@-2h
-- stuck: claimed_by='w1' claimed_until=@-3h next_attempt_at=@-3h
-- running: claimed_by='w2' claimed_until=@+5m next_attempt_at=@-1m
-- late: next_attempt_at=@-40m
-- later: next_attempt_at=@+1d last_error='timeout' retry_count=1

-- home4.pdf_exports
CREATE TABLE pdf_exports (id serial PRIMARY KEY, document_id int, params json, processing bool NOT NULL DEFAULT false, done bool NOT NULL DEFAULT false, failed bool NOT NULL DEFAULT false, attempts int NOT NULL DEFAULT 0, locked_at timestamp, error text, created_at timestamp NOT NULL DEFAULT now());
-- all: document_id=1 params='{}'
-- done: done=true attempts=1
-- failed: failed=true error='bad file' attempts=3
-- stuck: processing=true locked_at=@-3h attempts=1
-- running: processing=true locked_at=@-1m attempts=1
-- late: created_at=@-40m

-- home5.webhook_deliveries
CREATE TABLE webhook_deliveries (id bigserial PRIMARY KEY, endpoint text, payload jsonb, status varchar(20) NOT NULL DEFAULT 'pending', attempt_count int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 8, next_attempt_at timestamptz, last_attempt_at timestamptz, response_code int, error_message text, delivered_at timestamptz, locked_by text, locked_until timestamptz);
-- all: endpoint='https://x' payload='{}'
-- done: status='delivered' delivered_at=@-2h attempt_count=1
-- failed: status='dead' error_message='500' attempt_count=8
-- stuck: status='in_flight' locked_by='w1' locked_until=@-3h next_attempt_at=@-3h
-- running: status='in_flight' locked_by='w2' locked_until=@+5m next_attempt_at=@-1m
-- late: next_attempt_at=@-40m
-- later: next_attempt_at=@+1d status='retrying' attempt_count=1 error_message='500'

-- home6.ImportQueue
CREATE TABLE "ImportQueue" ("Id" serial PRIMARY KEY, "FileName" text, "StatusName" text NOT NULL, "CreatedAt" timestamp NOT NULL DEFAULT now(), "LockedBy" text, "LockExpiresAt" timestamp, "RetriesLeft" int NOT NULL DEFAULT 3, "ErrorMessage" text, "JobData" jsonb);
-- all: "FileName"='a.csv' "JobData"='{}'
-- done: "StatusName"='Completed'
-- failed: "StatusName"='Failed' "ErrorMessage"='bad' "RetriesLeft"=0
-- stuck: "StatusName"='InProgress' "LockedBy"='w1' "LockExpiresAt"=@-3h
-- running: "StatusName"='InProgress' "LockedBy"='w2' "LockExpiresAt"=@+5m
-- late: "StatusName"='Queued' "CreatedAt"=@-40m

-- home7.etl_runs
CREATE TABLE etl_runs (run_id bigserial PRIMARY KEY, parent_run_id int8 REFERENCES etl_runs, step text, run_state text NOT NULL CHECK (run_state IN ('queued', 'running', 'ok', 'failed')), queued_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, heartbeat_at timestamptz, ended_at timestamptz, host text, exception text);
-- all: step='load'
-- done: run_state='ok' started_at=@-2h ended_at=@-2h heartbeat_at=@-2h host='a'
-- failed: run_state='failed' started_at=@-1h ended_at=@-1h heartbeat_at=@-1h host='a' exception='ValueError'
-- stuck: run_state='running' started_at=@-3h heartbeat_at=@-3h host='a'
-- running: run_state='running' started_at=@-3h heartbeat_at=@-1m host='b'
-- late: run_state='queued' queued_at=@-40m

-- home8.sms_queue
CREATE TABLE sms_queue (id serial PRIMARY KEY, phone text NOT NULL, message text NOT NULL, queued_at timestamptz NOT NULL DEFAULT now(), taken_at timestamptz NOT NULL DEFAULT 'epoch', taken_by int NOT NULL DEFAULT -1, sent_at timestamptz, failed_at timestamptz, fail_reason text, tries int2 NOT NULL DEFAULT 0);
-- all: phone='+1' message='hi'
-- done: taken_at=@-2h taken_by=1 sent_at=@-2h
-- failed: failed_at=@-1h fail_reason='no route' tries=3
-- stuck: taken_at=@-3h taken_by=1
-- running: taken_at=@-1m taken_by=2
-- late: queued_at=@-40m

-- home9.crawl_queue
CREATE TABLE crawl_queue (url text PRIMARY KEY, status text NOT NULL DEFAULT 'todo', fetch_after timestamptz, crawler text, fetch_started timestamptz, retries int NOT NULL DEFAULT 0, http_error text);
-- all: url='https://x/'||n
-- done: status='fetched' retries=0
-- failed: status='error' http_error='404' retries=3
-- stuck: status='fetching' crawler='c1' fetch_started=@-3h fetch_after=@-3h
-- running: status='fetching' crawler='c2' fetch_started=@-1m fetch_after=@-1m
-- late: fetch_after=@-40m
-- later: fetch_after=@+1d

-- home10.jobs_to_run
CREATE TABLE jobs_to_run (id bigserial PRIMARY KEY, command text NOT NULL, scheduled timestamptz NOT NULL DEFAULT now(), pid int, started timestamptz, ended timestamptz, exit_code int, stderr text);
-- all: command='/bin/mail'
-- done: scheduled=@-2h pid=1 started=@-2h ended=@-2h exit_code=0
-- failed: scheduled=@-1h pid=1 started=@-1h ended=@-1h exit_code=1 stderr='oops'
-- stuck: scheduled=@-3h pid=1 started=@-3h
-- running: scheduled=@-1m pid=2 started=@-1m
-- late: scheduled=@-40m
-- later: scheduled=@+1d
