"""Engines in folders outside of the package, in the commands and in the console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from console.cli.engine_check import lines
from queries.check import prove
from queries.check.prove import Loaded
from queries.contract.builtin import builtin_folder
from queries.contract.folder import read
from queries.contract.outside import OutsideEngines, note, outside_engines
from queries.records.action import Outcome
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.outside import HOMEMADE, change, copied, schema
from tests.proof import proof
from tests.queries.builders import do, opened
from tests.servers import PostgresServer


@pytest.fixture
def homemade(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with the home-made queue beside eternaltwin's tables."""
    dsn = server.fresh("eternaltwin")
    server.sql(schema(), dsn)
    yield dsn
    server.drop(dsn)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the operator's files, with the engine among the settings."""
    monkeypatch.setattr("queries.check.plans.TABLE_ROWS", 150_000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "unstick").mkdir(parents=True)
    copied(tmp_path / "config" / "unstick" / "engines")
    return tmp_path


def settings(home: Path, text: str) -> None:
    (home / "config" / "unstick" / "config.toml").write_text(text)


def in_settings(home: Path) -> Path:
    return home / "config" / "unstick" / "engines"


def trusted(home: Path) -> OutsideEngines:
    return outside_engines([in_settings(home)], {"homemade"})


def test_a_folder_among_the_settings_is_an_engine(homemade: str, home: Path) -> None:
    answer = unstick("engines", "--json", dsn=homemade, home=home)
    assert answer.code == 0
    assert [each["label"] for each in answer.json["engines"]] == ["eternaltwin", "homemade"]
    engine = answer.json["engines"][1]
    assert Path(engine["origin"]) == in_settings(home) / "homemade"
    assert {count["phase"]: count["n"] for count in engine["counts"]} == {
        "ready": 2, "scheduled": 1, "running": 2, "failed": 2, "done": None
    }  # fmt: skip
    assert [each["node_id"] for each in unstick("stuck", "--json", dsn=homemade, home=home).findings] == [
        "homemade/item:4"
    ]
    tree = unstick("tree", "--json", "--engine", "homemade", dsn=homemade, home=home)
    assert tree.code == 0
    assert "fetch" in tree.out
    dead = unstick("dead", "--json", "--engine", "homemade", dsn=homemade, home=home)
    assert dead.out.count('"homemade/item:6"') == 1
    assert "work_items" in unstick("sql", "release", "--engine", "homemade", home=home).out
    assert "own engine" in unstick("engines", dsn=homemade, home=home).out


@pytest.mark.parametrize("due", ["at infinity", "in 8h"])
def test_a_dead_letter_that_is_not_in_the_past(server: PostgresServer, homemade: str, home: Path, due: str) -> None:
    time = "now() + '9h'" if due == "in 8h" else f"'{due.removeprefix('at ')}'"
    server.sql(f"UPDATE work_items SET due = {time}", homemade)
    assert f"  {due}  " in unstick("dead", "--engine", "homemade", dsn=homemade, home=home).out


@pytest.mark.parametrize("way", ["option", "option of the folder", "context"])
def test_a_folder_can_be_anywhere(homemade: str, tmp_path: Path, way: str) -> None:
    home = tmp_path / "home"
    folder = copied(tmp_path / "shared")
    given = {"option": tmp_path / "shared", "option of the folder": folder}
    if way == "context":
        (home / "config" / "unstick").mkdir(parents=True)
        settings(home, f'[contexts.it]\ndsn = "{homemade}"\nengines = ["../../../shared"]\n')
        answer = unstick("stuck", "@it", "--json", home=home)
    else:
        answer = unstick("stuck", "--engines", str(given[way]), "--json", dsn=homemade, home=home)
    assert [each["node_id"] for each in answer.findings] == ["homemade/item:4"]
    without = unstick("stuck", "--json", dsn=homemade, home=home).findings
    assert {(each["engine"], each["action"]) for each in without} == {("work_items", None)}, "a guess of its table"


def test_its_actions_are_off_until_it_is_checked_as_it_is_now(homemade: str, home: Path) -> None:
    words = ("do", "release", "homemade/item:4", "--reason", "worker-1 is gone", "--yes")
    answer = unstick(*words, dsn=homemade, home=home)
    assert answer.code == 3
    assert "unstick engine check" in answer.out + answer.err
    folder = in_settings(home) / "homemade"
    note(read(folder).digest, "homemade")
    change(folder, "engine.toml", "The next worker", "A worker")
    assert unstick(*words, dsn=homemade, home=home).code == 3
    change(folder, "engine.toml", "A worker", "The next worker")
    assert unstick(*words, dsn=homemade, home=home).code == 0
    assert fetch(homemade, "SELECT state, taken_by FROM work_items WHERE id = 4") == [("todo", None)]


def test_a_trusted_one_needs_no_check(homemade: str, home: Path) -> None:
    settings(home, "[engines.homemade]\ntrust = true\n[thresholds.homemade]\nstale = '1m'\n")
    words = ("do", "retry", "homemade/item:6", "--reason", "the font is there", "--yes")
    assert unstick(*words, dsn=homemade, home=home).code == 0
    undone = unstick("audit", "--json", dsn=homemade, home=home).json["entries"][0]
    assert undone["action"] == "retry"


async def test_an_action_of_it_shows_the_rows_that_it_changes(homemade: str, home: Path) -> None:
    workspace = await opened(homemade, home, outside=trusted(home))
    done = await do(workspace, "retry", ["homemade/item:6"], label="homemade")
    assert [each.outcome for each in done.results] == [Outcome.CHANGED]
    assert [(each.table, each.after["state"]) for each in done.changes if each.after] == [("work_items", "todo")]
    await workspace.close()


BROKEN = [
    ("engine.toml", 'title = "Release"', 'title = Release"', "", "not valid TOML"),
    ("nodes.sql", ":ids", ":ides", "", "'ides' is neither a parameter"),
    ("actions/retry.sql", "-- :change", "--", "actions/retry.sql:1", ":change is missing"),
]


@pytest.mark.parametrize(("file", "old", "new", "place", "why"), BROKEN, ids=[each[0] for each in BROKEN])
def test_a_broken_folder_is_reported_and_stops_no_other(
    homemade: str, home: Path, file: str, old: str, new: str, place: str, why: str
) -> None:
    folder = copied(in_settings(home), "broken")
    change(folder, file, old, new)
    lines = (folder / file).read_text().splitlines()
    place = place or f"{file}:{next(n for n, line in enumerate(lines, 1) if new in line)}:"
    settings(home, f'[contexts.it]\ndsn = "{homemade}"\nengine = "broken"\n[thresholds.broken]\nstale = "1m"\n')
    for command in ("engines", "stuck", "tree", "dead", "info"):
        answer = unstick(command, "@it", "--json", home=home)
        assert answer.code == (1 if command == "engines" else 0), answer.err
        assert answer.json
        (line,) = answer.err.splitlines()
        assert line.startswith("The engine broken is not used: ")
        assert place in line
        assert why in line
    assert [each["node_id"] for each in unstick("stuck", "@it", "--json", home=home).findings] == ["homemade/item:4"]
    (broken,) = unstick("engines", "@it", "--json", home=home).json["broken"]
    assert broken["name"] == "broken"


def test_a_name_is_taken_once(homemade: str, home: Path, tmp_path: Path) -> None:
    copied(tmp_path / "more")
    copied(tmp_path / "more", "eternaltwin")
    copied(tmp_path / "more", "Odd name")
    answer = unstick("engines", "--engines", str(tmp_path / "more"), "--json", dsn=homemade, home=home)
    assert [each["label"] for each in answer.json["engines"]] == ["eternaltwin", "homemade"]
    assert answer.json["engines"][1]["origin"] == str(in_settings(home) / "homemade")
    assert {each["name"] for each in answer.json["broken"]} == {"eternaltwin", "homemade", "Odd name"}


def test_a_folder_that_is_named_twice_is_one(homemade: str, home: Path) -> None:
    answer = unstick("engines", "--engines", str(in_settings(home) / "homemade"), dsn=homemade, home=home)
    assert answer.code == 0


def test_a_folder_that_is_missing_or_empty_is_reported(homemade: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("empty", "none"):
        answer = unstick("engines", "--engines", str(tmp_path / place), "--json", dsn=homemade, home=home)
        assert [each["label"] for each in answer.json["engines"]] == ["eternaltwin", "homemade"]
        assert len(answer.json["broken"]) == 1


def test_a_folder_whose_file_is_misspelt_or_gone_is_named(homemade: str, home: Path) -> None:
    place = in_settings(home)
    for name in ("misspelt", "moved", ".git"):
        (place / name).mkdir(mode=0o700)
    (place / "misspelt" / "engine.tml").touch()
    (place / "moved" / "engine.toml").symlink_to(place / "gone.toml")
    answer = unstick("engines", "--json", dsn=homemade, home=home)
    assert [each["label"] for each in answer.json["engines"]] == ["eternaltwin", "homemade"]
    whys = {each["name"]: each["why"] for each in answer.json["broken"]}
    assert whys == {
        "misspelt": f"{place}/misspelt/engine.toml:1:1: the file is missing",
        "moved": f"{place}/moved/engine.toml:1:1: it is a symbolic link",
    }


def test_a_place_of_folders_that_cannot_be_read_is_named(homemade: str, home: Path) -> None:
    place = in_settings(home)
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place)
    answer = unstick("engines", "--json", dsn=homemade, home=home)
    assert [each["label"] for each in answer.json["engines"]] == ["eternaltwin", "work_items"]
    assert [each["why"] for each in answer.json["broken"]] == [f"{place}: Too many levels of symbolic links"]


@pytest.mark.parametrize("what", ["file", "folder", "link", "included"])
def test_what_another_user_can_write_is_not_used(homemade: str, home: Path, what: str, tmp_path: Path) -> None:
    folder = in_settings(home) / "homemade"
    if what == "link":
        (folder / "roots.sql").rename(tmp_path / "roots.sql")
        (folder / "roots.sql").symlink_to(tmp_path / "roots.sql")
    elif what == "included":
        change(folder, "roots.sql", "SELECT", "\\ir ../../secret.sql\nSELECT")
    else:
        (folder if what == "folder" else folder / "roots.sql").chmod(0o777)
    answer = unstick("engines", "--json", dsn=homemade, home=home)
    (package, guess) = answer.json["engines"]
    assert (package["label"], guess["label"]) == ("eternaltwin", "work_items")
    assert "is read as a guess" in guess["unproven"]
    assert {each["available"] for each in guess["actions"]} <= {False}
    (broken,) = answer.json["broken"]
    assert "/homemade/" in broken["why"]


async def test_the_console_marks_it_and_names_a_broken_one(homemade: str, home: Path) -> None:
    change(copied(in_settings(home), "broken"), "nodes.sql", ":ids", ":ides")
    outside = outside_engines([in_settings(home)])
    async with run_tui(homemade, home, outside=outside, size=(150, 40)) as tui:
        await tui.wait_for("homemade (own)", "1 engine not used")
        await tui.press("greater_than_sign")
        await tui.wait_for("own engine, not checked: no actions", "report")
        await tui.press("question_mark", "end")
        await tui.wait_for("'ides' is neither a")


async def test_the_console_acts_with_it(homemade: str, home: Path) -> None:
    async with run_tui(homemade, home, outside=trusted(home), size=(150, 40), start="stuck") as tui:
        await tui.wait_for("dead letters", "taken too long")
        await (await tui.press("end")).action("L")
        await tui.press("L")
        await tui.wait_for("1 changed")
    connection = await asyncpg.connect(homemade)
    assert await connection.fetchval("SELECT state FROM work_items WHERE id = 4") == "todo"
    await connection.close()


@pytest.mark.parametrize("ring", [True, False])
async def test_show_in_tree_of_a_row_without_a_root(
    server: PostgresServer, homemade: str, tmp_path: Path, ring: bool
) -> None:
    """The cursor is never put on another row, on which the next key would act."""
    parents = "CASE id WHEN 4 THEN 6 ELSE 4 END" if ring else "999999"
    rows = f"UPDATE work_items SET parent_id = {parents} WHERE id IN (4{', 6' * ring})"
    server.sql(f"SET session_replication_role = replica; {rows}; RESET session_replication_role", homemade)
    copied(tmp_path / "derived", source=HOMEMADE)
    outside = outside_engines([tmp_path / "derived"], {"homemade"})
    async with run_tui(homemade, tmp_path, outside=outside, size=(150, 40), start="stuck") as tui:

        def there() -> bool:
            return bool((front := tui.app.front) and (cursor := front.cursor()) and cursor.id == "homemade/item:4")

        await tui.wait_for("dead letters", "taken too long")
        await tui.press("down")
        await tui.wait_for(there)
        await tui.press("o")
        said = "is not in the tree: it no longer exists, or its parents form a ring"
        await tui.wait_for(said if ring else lambda: tui.app.current_mode == "tree", there)
        assert (tui.app.current_mode == "stuck") == ring


# unstick engine check


def test_a_folder_that_passes_may_act(homemade: str, home: Path) -> None:
    folder = in_settings(home) / "homemade"
    answer = unstick("engine", "check", str(folder), "-d", homemade, "--json", home=home)
    assert answer.code == 0, answer.out
    assert answer.json["passed"]
    names = [check["name"] for check in answer.json["checks"]]
    assert names == ["files", *prove.NAMES, *prove.READING]
    here = [check["engine"] for check in answer.json["checks"]]
    assert here == [""] * (1 + len(prove.NAMES)) + ["homemade"] * len(prove.READING)
    assert all(check["number"] for check in answer.json["checks"])
    assert fetch(homemade, "SELECT count(*) FROM work_items") == [(8,)]
    words = ("do", "release", "homemade/item:4", "--reason", "worker-1 is gone", "--yes")
    assert unstick(*words, dsn=homemade, home=home).code == 0
    change(folder, "engine.toml", "severity = 7", "severity = 6")
    assert unstick(*words, dsn=homemade, home=home).code == 3


async def test_a_check_says_where_it_looked(homemade: str, home: Path) -> None:
    """A check of the same name ran on the embedded server."""
    loaded = Loaded(in_settings(home) / "homemade")
    assert loaded.engine is not None
    workspace = await opened(homemade, home, outside=trusted(home))
    found = [check async for check in prove.prove_on(workspace, loaded.engine, loaded.toml)]
    await workspace.close()
    headings = ["".join(part[0] for part in next(iter(lines(check)))) for check in found]
    assert len(headings) == len(prove.READING)
    assert all("homemade" in heading for heading in headings)


def test_a_copy_of_a_folder_of_the_package_is_not_checked(homemade: str, home: Path) -> None:
    """A copy of it is another engine of the same name."""
    copy = copied(home / "copy", "tasker", builtin_folder("tasker"))
    (fault,) = unstick("engine", "check", str(copy), "--json", home=home).json["checks"][0]["faults"]
    assert "taken" in fault[3]


@proof
@pytest.mark.parametrize("name", ["pgqueuer", "eternaltwin"])
def test_a_folder_of_the_package_with_rows_passes(home: Path, name: str) -> None:
    answer = unstick("engine", "check", str(builtin_folder(name)), "--json", home=home)
    assert [fault for check in answer.json["checks"] for fault in check["faults"]] == []
    assert answer.code == 0


@pytest.mark.parametrize("typed", ["homemade:4", "homemade/4", "item:4", "homemade/item:4"])
def test_an_incomplete_id_is_looked_up_or_answered_with_the_whole_one(homemade: str, home: Path, typed: str) -> None:
    answer = unstick("do", "release", typed, "--reason", "x", "--dry-run", dsn=homemade, home=home)
    assert ("Write homemade/item:4" in answer.err) == (typed == "homemade/4"), answer.err
    assert typed == "homemade/4" or "homemade/item:4" in answer.out


def test_a_folder_with_faults_may_not_act(homemade: str, home: Path) -> None:
    folder = in_settings(home) / "homemade"
    change(folder, "actions/retry.sql", "   FOR UPDATE SKIP LOCKED\n", "")
    answer = unstick("engine", "check", str(folder), home=home)
    assert answer.code == 1
    lines = [line.strip() for line in answer.out.splitlines() if "FOR UPDATE" in line]
    assert lines
    assert all(line.startswith(f"{folder}/actions/retry.sql:5:1: retry: ") for line in lines)
    assert unstick("do", "retry", "homemade/item:6", "--reason", "x", "--yes", dsn=homemade, home=home).code == 3


def test_all_faults_of_the_files_are_listed_without_a_server(home: Path) -> None:
    folder = in_settings(home) / "homemade"
    change(folder, "nodes.sql", ":ids", ":ides")
    change(folder, "roots.sql", "LIMIT :limit", "LIMIT :pages")
    for setting, files in (("severity = 7", {"nodes.sql", "roots.sql"}), ("severty = 7", {"engine.toml"})):
        change(folder, "engine.toml", "severity = 7", setting)  # its fault comes first: others may follow from it
        answer = unstick("engine", "check", str(folder), "--json", home=home)
        assert answer.code == 1
        (check,) = answer.json["checks"]
        assert {Path(fault[0]).name for fault in check["faults"]} == files


def test_without_a_schema_nothing_is_proved(home: Path) -> None:
    folder = in_settings(home) / "homemade"
    (folder / "fixture.sql").unlink()
    answer = unstick("engine", "check", str(folder), "--json", home=home)
    assert answer.code == 1
    assert answer.json["checks"][-1]["faults"][0][0].endswith("fixture.sql")


def test_on_a_real_database_it_only_reads(homemade: str, home: Path, server: PostgresServer) -> None:
    server.sql("ALTER TABLE work_items ADD CHECK (true) NOT VALID; UPDATE work_items SET state = 'todo'", homemade)
    server.sql("ALTER TABLE work_items DROP CONSTRAINT work_items_state_check", homemade)
    server.sql("UPDATE work_items SET state = 'odd' WHERE id = 4", homemade)
    answer = unstick("engine", "check", str(in_settings(home) / "homemade"), "-d", homemade, "--json", home=home)
    assert answer.code == 1
    (faulty,) = [check for check in answer.json["checks"] if check["faults"]]
    assert any("'odd'" in fault[3] for fault in faulty["faults"])
