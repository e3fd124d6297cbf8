"""Drills that may still fail, and what is missing.

Remove a line when its drill passes.
"""

TODO: dict[str, str] = {
    "eternaltwin: runner killed": "overdue timers without an Available task do not show that the runner is down",
    "eternaltwin: runner killed over night": "runner_silent explains overdue_timer and starved",
    "eternaltwin: runner hangs while connected": "runner_stalled and runner_silent are one cause",
    "eternaltwin: deploy without a kind": "the kind is the cause of starved",
    "eternaltwin: deploy that cannot read states": "due and skipped",
    "eternaltwin: runner clock ahead then killed": "clocks",
    "eternaltwin: runner clock behind": "clocks",
    "eternaltwin: overflowed backoff": "due times far ahead",
}
