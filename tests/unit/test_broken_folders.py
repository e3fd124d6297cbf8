"""A broken folder costs itself only: its file and its setting are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract import loader
from queries.contract.engine import BrokenEngineError
from queries.contract.rules import REQUIRED
from tests.outside import HOMEMADE, change, copied

TOML = "engine.toml"
TOP, KIND, FINDING, CANCEL = 'stale = "5m"', 'parent = "parent_id"', 'action = "release"', "[actions.cancel]"
VIEW = '{ choices = ["x", "y"] }'
SQL, CHANGE = "findings/taken_too_long.sql", "-- :refused\nSELECT 1\n-- :change\nSELECT 1\n"
NO_INDEX = "workers.w.indexes has 'CREATE INDEX ON "
A_NAME = "must be a name of at most 40 characters: a-z"
LATE = "findings.taken_too_long"
EVIDENCE = f"{LATE} names the evidence 'wrong', which findings/taken_too_long.sql does not have"

# In engine.toml of the home-made queue: a text, what replaces it, and the message. "+": the new text follows the old.
SETTINGS = [
    ('title = "Home', 'title = = "', "it is not valid TOML: Invalid value"),
    ('title = "Home', f"title = {'[' * 9999}", "the file is nested too deeply"),
    ('about = "', 'abuot = "', 'abuot is not a setting; did you mean "about"?'),
    (FINDING, "+severty = 8", f'{LATE}.severty is not a setting; did you mean "severity"?'),
    (FINDING, 'severity = "7"', f"{LATE}.severity must be a whole number, not text"),
    ('cause = ["worker"]', 'cause = "worker"', f"{LATE}.cause must be a list, not text"),
    (FINDING, '+proof = "assumed"', f"{LATE}.action release runs work twice if the finding is wrong"),
    (FINDING, '+proof = "assumed"\ninstead = "retry"', f"{LATE}.instead retry runs work twice if the finding is wrong"),
    (FINDING, '+proof = "assumed"\ninstead = "cancel"', f"{LATE}.instead cancel ends work that cannot be got back if"),
    ('failed = "failed: it', 'failed = "fialed: it', "statuses.failed.phase must be one of"),
    ("id int8, parent_id", "id, parent_id", "recognise.relations.work_items has 'id', which is not a name and a type"),
    (CANCEL, "+arguments.note = { title = 'a' }", "actions.cancel.arguments is not a setting"),
    (TOP, '+arguments.note = { titel = "a" }', "arguments.note.titel is not a setting"),
    (TOP, '+unqualified = true', "unqualified must be one of nothing, workers, functions"),
    (TOP, '+workers = [{ privileges = [] }]', "workers has an entry without a name; write [workers.NAME]"),
    (TOP, '+keys = "K"', "keys must be a table, not text"),
    (TOP, '+keys = { k = "retry" }', "keys.k must be an upper-case letter"),
    (TOP, '+keys = { K = "rety" }', "keys.K has 'rety', which is not an action; did you mean \"retry\"?"),
    (TOP, '+recognise.roles.work_items = "work"', "recognise.roles.work_items must be a name with one * in it"),
    (TOP, '+recognise.roles.jobs = "*_jobs"', "recognise.roles has 'jobs', which is not a table of"),
    (TOP, '+recognise.functions = ["beat"]', "recognise.functions.0 must be written name(type, type)"),
    (TOP, '+thresholds_by = "kind"', "thresholds_by must be a column of a row t, such as t.kind"),
    (TOP, '+thresholds.most = "5 parsecs"', 'thresholds.most "5 parsecs" is not a duration; write "90s"'),
    (TOP, '+thresholds.of = { mail = "x" }', 'thresholds.of.mail "x" is not a duration'),
    (TOP, '+thresholds.limit = "5m"', "thresholds.limit has the name of a parameter in statements"),
    (TOP, '+thresholds.item_keys = "5m"', "thresholds.item_keys has the name of the keys of a kind in statements"),
    (TOP, '+thresholds_by = "t.task"\nthresholds.stale_of_kind = "5m"', "thresholds.stale_of_kind has the name of the"),
    (TOP, f"+options.ids = {VIEW}", "options.ids has the name of a parameter in statements"),
    (TOP, "+options.group = {}", "options.group needs at least two choices"),
    (TOP, '+arguments.stale = { title = "a" }', "arguments.stale has the name of a threshold or an option"),
    (TOP, '+arguments.cursor = { title = "a" }', "arguments.cursor has the name of a parameter in statements"),
    (TOP, '+counters = ["work_items.trys"]', "counters has 'work_items.trys', which is not a column in"),
    (TOP, '+redrive.item."" = "x"', "redrive.item has 'x', which is not an action"),
    (TOP, '+flow.work_itms = "kept"', "flow has 'work_itms', which is not a table of recognise.relations; did"),
    (TOP, '+own.objects = ["check on work_items: a"]', "own is not a setting"),
    (TOP, '+effects."CHANGE work_items" = []', 'effects."CHANGE work_items" must be SELECT, INSERT, UPDATE, DELETE,'),
    (TOP, '+effects."UPDATE log" = []', "effects.\"UPDATE log\" has 'log', which is not a table"),
    (TOP, '+effects."UPDATE work_items" = ["log.*"]', "effects.\"UPDATE work_items\" has 'log', which is not a table"),
    (TOP, "+workers.w = { privileges = [], indexes = ['CREATE INDEX ON work_items task'] }", NO_INDEX),
    (TOP, "+workers.w = { privileges = [], indexes = ['CREATE INDEX ON work_itms (id)'] }", "workers.w.indexes has 'w"),
    (TOP, '+workers.w.privileges = ["REMOVE work_items"]', "workers.w.privileges.0 must be SELECT, INSERT, UPDATE,"),
    ('table = "work_items"', 'table = "work_item"', "kinds.item.table has 'work_item', which is not a table"),
    (KIND, '+key = "ident"', "kinds.item.key has 'ident', which is not a column of work_items"),
    ('"parent_id"\n', '"itm.parent_id"\n', "kinds.item.parent has 'itm', which is not a kind of nodes; did you"),
    (KIND, 'parent = "parents_id"', "kinds.item.parent has 'parents_id', which is not a column of work_items"),
    (KIND, '+payloads.last = "eror"', "kinds.item.payloads has 'eror', which is not a column of work_items"),
    ("[kinds.item]", "[kinds.Item]", f"kinds.Item {A_NAME}"),
    ("id int8, parent_id", "id bytea, parent_id", "kinds.item.key has 'bytea', which is not a type for which"),
    ("[claim.item]", "[claim.itm]", "claim.itm has 'itm', which is not a kind with a table; did you mean"),
    ("[claim.item]", '+needs.running = ["x"]', "claim.item.needs has 'x', which is not a need"),
    ('status = "state", ', "", 'claim.item needs the setting "unfinished", because its kind has no status'),
    ("conditions = {", 'conditions.x = { holds = "true", needs = [] }\nbeside = {', "claim.item.conditions.x.needs is"),
    ("conditions = {", "conditions = {}\nbeside = {", "claim.item.conditions must be a table with at least one"),
    ("takes it.", "takes [it].", f"{LATE}.sentence has a bracket or bar outside of [one node|several]"),
    (FINDING, '+incident = "s"', f"{LATE}.incident is not a setting"),
    ('sentence = "', 'remedy = "', f'{LATE} needs the setting "sentence"'),
    ("[findings.taken_too_long]", "[findings.Late]", f"findings.Late {A_NAME}"),
    (FINDING, '+sample = "rows"\nrenewed = "refutes"', f"{LATE}.renewed does nothing without one number in"),
    (FINDING, '+renewed = "refutes"\nchanges = ["n"]', f"{LATE}.renewed does nothing without the setting 'sample'"),
    (FINDING, '+least.per_minute = "stale"', f"{LATE}.least does nothing without one number in"),
    (FINDING, '+least.minutes = "stale"', f"{LATE}.least.minutes must be one of changes, per_minute, seconds"),
    (FINDING, '+pattern.like = "3"', f"{LATE}.pattern.like must be one of alike, regular"),
    (FINDING, '+explains.node = ["late"]', f"{LATE}.explains has 'late', which is not a finding"),
    (FINDING, '+explains.node = "late"', f"{LATE}.explains.node must be a list, not text"),
    (FINDING, '+explains = ["late"]', f"{LATE}.explains must be a table, not a list"),
    (FINDING, '+arguments = { at = "1" }', f"{LATE}.arguments has 'at', which is not an argument of"),
    (FINDING, '+least.seconds = "stal"', f"{LATE}.least has 'stal', which is not a threshold; did you mean"),
    ("[findings.taken_too_long]", '+among = "rows"', f"{LATE} names the file parts/rows.sql, which"),
    ('action = "release"', 'action = "relase"', f"{LATE}.action has 'relase', which is not an action"),
    ("{worker} took", "{wrong} took", EVIDENCE),
    ("takes it.", "takes [it|{wrong}].", EVIDENCE),
    (FINDING, '+arguments = { gone = "{wrong}" }', EVIDENCE),
    (FINDING, '+explains.wrong = ["taken_too_long"]', EVIDENCE),
    *((FINDING, f'+{each} = ["wrong"]', EVIDENCE) for each in ("cause_text", "constant", "changes")),
    ("now() - :stale", "now() - :stael", "findings/taken_too_long: 'stael' is neither a parameter nor a setting; did"),
    ("now() - :stale", "now() - :stale_of_kind", "findings/taken_too_long: 'stale_of_kind' is neither a parameter nor"),
    (CANCEL, '+refuse = [{ when = "true", why = "after {stael}" }]', "actions/cancel: 'stael' is neither a"),
    (CANCEL, "[actions.Cancel]", f"actions.Cancel {A_NAME}"),
    (TOP, '+keys = { L = "retry" }', "actions.retry has the key L of release for nodes of the kind item"),
    (CANCEL, "[[actions.cancel]]\neffect = ''\n[[actions.cancel]]", "actions.cancel is defined twice for nodes of"),
    (CANCEL, '+kinds = ["itm"]', "actions.cancel.kinds has 'itm', which is not a kind of nodes"),
    (CANCEL, '+privileges = ["UPDATE work_items"]', "actions.cancel.privileges is not a setting"),
    (CANCEL, '+command.shell = "cancel {id}"', "actions.cancel.command.shell has {id}; only {key} is filled in"),
    (CANCEL, '+support = "unsupported"', 'actions.cancel needs the setting "why", because it is unsupported'),
    (CANCEL, '+undo = "none"', "actions.cancel cannot be undone; `undo_note` must say why"),
    (TOP, '+kinds.queue.form = "all"', 'actions.cancel needs the setting "kinds"'),
    ('from = ["todo", "failed"]', 'from = ["todos"]', "actions.cancel.from has 'todos', which is not a status or a"),
]  # fmt: skip

# In a file of the home-made queue in full; old None: a new file.
FILES = [
    ("roots.sql", ":cursor", ":curser", "'curser' is neither a parameter nor a setting; did you mean \"cursor\"?"),
    ("roots.sql", ":cursor", "$4", "$4 has no name; write a parameter as :ids, without a type"),
    ("actions/retry.sql", None, "SELECT 1", "it has no section; a section begins with a line such as -- :lock"),
    (SQL, ":stale", "make_interval(secs => (:settings ->> 'stael')::int)", "'stael' is not a threshold or an option"),
    ("actions/retry.sql", "state = 'todo'", "state = :args ->> 'stat'", "'stat' is not an argument"),
    ("actions/retry.sql", "-- :change", "-- :refused", "the section :change is missing"),
    ("actions/release.sql", "-- :refused", "-- :refuse", "the section :refuse is not one of lock, refused, witnesses"),
    ("findings/late.sql", None, "SELECT 1", "nothing uses this file"),
    ("undo/work_item.sql", None, CHANGE, "its name is not one of the tables in recognise.relations"),
    ("children.sql", "-- needs: item", "-- kinds: other\n-- needs: item", "there is no kind of nodes 'other'"),
    ("roots.sql", "IS NULL AND", "IS NULL AND 'x' = ANY (:met_needs) AND", "'x' is not a need"),
    ("children.sql", "-- needs: item_by_parent", "-- needs: x", "it needs 'x', which engine.toml does not define"),
    ("detail/payload.sql", "-- kinds: item", "-- kinds: itm", "there is no kind of nodes 'itm'"),
    ("detail/payload.sql", "-- kinds: item", "-- kinds: item\n-- drawn: pie", "there is no drawing 'pie'; use graph"),
    ("roots.sql", None, "-- nothing", "the statement is empty"),
]  # fmt: skip


def faults(folder: Path) -> dict[str, tuple[str, int]]:
    """Return file and line of each fault of a folder, by its message."""
    with pytest.raises(BrokenEngineError) as caught:
        loader.load(folder)
    assert str(caught.value).splitlines()[-1] == f"The engine '{folder.name}' cannot be used until this is fixed."
    return {fault.message: (fault.file, fault.line) for fault in caught.value.faults}


@pytest.mark.parametrize(("old", "new", "said"), SETTINGS, ids=[f"{each[1]}: {each[2]}" for each in SETTINGS])
def test_a_wrong_setting_is_named_with_the_line_of_its_table(tmp_path: Path, old: str, new: str, said: str) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(folder, TOML, old, f"{old}\n{new[1:]}" if new[:1] == "+" else new)
    ((file, line),) = {place for message, place in faults(folder).items() if message.startswith(said)}
    assert file == str(folder / TOML)
    first, *names = said.split()[0].rstrip(":").replace("/", ".").split(".")
    named = (folder / TOML).read_text().splitlines()[line - 1].casefold()
    assert line == 1 or any(name.casefold() in named for name in names or [first])


@pytest.mark.parametrize(("file", "old", "new", "said"), FILES)
def test_a_wrong_file_is_named(tmp_path: Path, file: str, old: str | None, new: str, said: str) -> None:
    folder = copied(tmp_path)
    if old is None:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(new)
    else:
        change(folder, file, old, new)
    (place,) = [place for message, place in faults(folder).items() if message.startswith(said)]
    assert place[0] == str(folder / file)


@pytest.mark.parametrize("file", [*(f"{name}.sql" for name in REQUIRED), "actions/retry.sql", SQL, TOML])
def test_a_missing_file_is_named(tmp_path: Path, file: str) -> None:
    folder = copied(tmp_path)
    (folder / file).unlink()
    assert faults(folder) == {"the file is missing": (str(folder / file), 1)}


def test_an_action_that_edits_a_text_reads_it(tmp_path: Path) -> None:
    folder = copied(tmp_path, source=HOMEMADE)
    change(folder, TOML, TOP, f'{TOP}\narguments.text = {{ title = "a", type = "document" }}')
    change(folder, TOML, "\"'cancelled'\"", '":text"')
    assert faults(folder) == {"the section :document is missing": (str(folder / "actions/cancel.sql"), 1)}
