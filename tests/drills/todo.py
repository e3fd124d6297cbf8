"""Drills that may still fail, and what is missing.

Remove a line when its drill passes.
"""

TODO: dict[str, str] = {
    "eternaltwin: runner clock behind": "polls dated behind the server's clock",
    "estuary: executors killed": "one cause for all types of one executor",
    "estuary: poison message": "a due task with an unrecognised message that is held for many timeouts is failing",
    "estuary: long polls take all permits": "type_not_served does not explain long polls that take all slots",
    "agent_jobs: redis emptied": "job_ids_restarted explains completion_not_recorded and overdue",
    "agent_jobs: gateway down": "many failed jobs with one error",
    "agent_jobs: disk full": "many failed jobs with one error",
    "uni2work: mail gateway down": "cancel is no remedy if all jobs of a kind fail",
    "uni2work: cron silent": "the job's name",
    "uni2work: cron silent without a configured period": "own cadence",
    "uni2work: empty token bucket": "the bucket's name",
    "uni2work: clock of an instance jumped ahead": "locks dated in the future",
    "eternaltwin: row locked": "runner_silent names no late nodes whose rows are locked",
    "eternaltwin: row locked at depth 3": "runner_silent names no late nodes whose rows are locked",
    "eternaltwin: row locked by two with shared locks": "runner_silent names no late nodes whose rows are locked",
    "eternaltwin: row locked in a released savepoint": "runner_silent names no late nodes whose rows are locked",
    "eternaltwin: row locked by a prepared transaction": "runner_silent names no late nodes whose rows are locked",
    "agent_jobs table: row locked": "completion_not_recorded is no symptom of locked rows",
    "agent_jobs table: row locked at depth 3": "completion_not_recorded is no symptom of locked rows",
    "agent_jobs table: row locked by two with shared locks": "completion_not_recorded is no symptom of locked rows",
    "agent_jobs table: row locked in a released savepoint": "completion_not_recorded is no symptom of locked rows",
    "agent_jobs table: row locked by a prepared transaction": "completion_not_recorded is no symptom of locked rows",
    "uni2work: row locked": "no_workers names no late nodes whose rows are locked",
    "uni2work: row locked at depth 3": "no_workers names no late nodes whose rows are locked",
    "uni2work: row locked by two with shared locks": "no_workers names no late nodes whose rows are locked",
    "uni2work: row locked in a released savepoint": "no_workers names no late nodes whose rows are locked",
    "uni2work: row locked by a prepared transaction": "no_workers names no late nodes whose rows are locked",
    "agent_jobs table: migration waits behind a report": "an engine whose tables are locked is not detected",
    "estuary: migration waits at depth 4": "lock_queue names the session in front, not the root",
    "uni2work: row locked seen by a viewer": "no_workers names no late nodes whose rows are locked",
    "estuary: host of all workers down": "one cause for all types of one executor",
}
