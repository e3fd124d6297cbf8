"""Drills that may still fail, and what is missing.

Remove a line when its drill passes.
"""

TODO: dict[str, str] = {
    "estuary: executors killed": "one cause for all types of one executor",
    "estuary: poison message": "a due task with an unrecognised message that is held for many timeouts is failing",
    "estuary: long polls take all permits": "type_not_served does not explain long polls that take all slots",
    "estuary: host of all workers down": "one cause for all types of one executor",
}
