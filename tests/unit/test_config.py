from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import config
from console.config import Config, ConfigError, Context
from queries.db.redaction import redact, redact_message
from queries.text import duration

FILE = Path("/etc/unstick.toml")
SETTINGS = """\
theme = "night"
ascii = true
interval = "1m30s"

[contexts.prod]
dsn = "postgresql://operator:hunter2@db.example/tasks"
color = "red"
production = true
read_only = true
engine = "eternaltwin@billing"

[contexts.local]

[thresholds.eternaltwin]
late = "10m"
spinning_polls = 5

[thresholds.eternaltwin.SendEmail]
late = 60.5

[keys]
wake = "W,f5"
"""


def read(text: str) -> Config:
    return config.parse(text, FILE)


def test_every_setting() -> None:
    got = read(SETTINGS)
    assert got.contexts == {
        "prod": Context(
            name="prod",
            dsn="postgresql://operator:hunter2@db.example/tasks",
            color="red",
            production=True,
            read_only=True,
            engine="eternaltwin@billing",
        ),
        "local": Context(name="local"),
    }
    assert got.thresholds == {"eternaltwin": {"late": 600, "spinning_polls": 5, "SendEmail": {"late": 60.5}}}
    assert (got.keys, got.theme, got.ascii, got.interval) == ({"wake": "W,f5"}, "night", True, 90)


def test_nothing_set_means_the_defaults() -> None:
    got = read("")
    assert (got.contexts, got.thresholds, got.keys, got.theme, got.ascii, got.interval) == ({}, {}, {}, "", False, 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[contexts.prod]\n\ncolour = 1", 3, 'contexts.prod.colour is not a setting; did you mean "color"?'),
        ("contexts.prod.passwd = 1", 1, "contexts.prod.passwd is not a setting"),
        (
            '\ncontexts.prod = {\tdsn = "", "read only" = true }',
            2,
            'contexts.prod."read only" is not a setting; did you mean "read_only"?',
        ),
        ('[contexts."a.b"]\nproduction = "yes"', 2, 'contexts."a.b".production must be true or false, not text'),
        ('[contexts]\n"ü" = 3', 2, 'contexts."ü" must be a table, not a number'),
        ("[contexts.p]\ndsn = [1,\n2]", 2, "contexts.p.dsn must be text, not a list"),
        ('[contexts."a b"]', 1, 'contexts."a b" must be a name without spaces and without @'),
        ('[contexts.p]\ncolor = "gren"', 2, 'contexts.p.color "gren" is not a color; did you mean "green"?'),
        ("[[contexts]]", 1, "contexts must be a table, not a list"),
        ("intervall = 3", 1, 'intervall is not a setting; did you mean "interval"?'),
        ("interval = 0.1", 1, 'interval must be between "200ms" and "1h"'),
        (
            'interval = "soon"',
            1,
            'interval "soon" is not a duration; write "90s", "10m", "2h", "1d" or a number of seconds',
        ),
        ("ascii = 1", 1, "ascii must be true or false, not a number"),
        ("theme = 1999-01-01", 1, "theme must be text, not a date"),
        ("\n[keys]\nwake = 3", 3, "keys.wake must be text, not a number"),
        ("[thresholds]\nx = 1", 2, "thresholds.x must be a table, not a number"),
        ('"\\u001b[2J" = 1', 1, '"\\u001b[2J" is not a setting'),
        ('"\\u202e" = 1', 1, '"<U+202E>" is not a setting'),
        ("a = 1\nb =", 2, "it is not valid TOML: "),
        ("a = 1\n\na = 2", 3, "it is not valid TOML: "),
        ('a = 1\nb = """x', 2, "it is not valid TOML: "),
        ('theme = "x"\nkeys.quit = "\\u0000"', 2, "a setting holds \\u0000"),
        (f"a = {'[' * 9999}", 1, "the file is nested too deeply"),
    ],
)
def test_an_error_is_one_line_with_the_position(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value).startswith(f"{FILE}:{line}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("written", ["true", '""', '"-1m"', "-1", "nan", "inf", '"1x"', "[]", '"٣s"', '"\\u001bs"'])
def test_a_threshold_is_a_duration_or_a_number(written: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^/etc/unstick.toml:2: thresholds.x.y \S+ is not a duration; write"
    ) as caught:
        read(f"[thresholds.x]\ny = {written}")
    assert str(caught.value).isprintable()


KNOWN = {"eternaltwin": {"late", "spinning_polls"}, "estuary": {"lapsed"}}


def check(text: str) -> None:
    read(text).check(KNOWN, {})
    read(text).check_screen(["wake"], ["night"])


def test_known_names_pass_the_check() -> None:
    check(SETTINGS)
    read('[thresholds."eternaltwin@billing"]\nlate = 1').check(KNOWN, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[contexts.prod]\nengine='etrnaltwin'",
            '2: contexts.prod.engine "etrnaltwin" is not an engine; did you mean "eternaltwin"?',
        ),
        ("[thresholds.eternaltwn]", '1: thresholds.eternaltwn is not an engine; did you mean "eternaltwin"?'),
        (
            "[thresholds.eternaltwin]\n\nlatte=1",
            '3: thresholds.eternaltwin.latte is not a threshold of eternaltwin; did you mean "late"?',
        ),
        ("[thresholds.eternaltwin]\nSend.x = 1", "2: thresholds.eternaltwin.Send.x is not a threshold of eternaltwin"),
        ("[keys]\nwke='W'", '2: keys.wke is not a command; did you mean "wake"?'),
        ("theme='nigt'", '1: theme "nigt" is not a theme; did you mean "night"?'),
    ],
)
def test_an_unknown_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(text)
    assert str(caught.value) == f"{FILE}:{message}"


def test_an_unknown_context_names_the_nearest_and_all() -> None:
    with pytest.raises(ConfigError) as caught:
        read(SETTINGS).context("prdo")
    assert str(caught.value) == f'There is no context "prdo"; did you mean "prod"?\n{FILE} has: prod, local.'
    with pytest.raises(ConfigError, match=r'^There is no context "x"\.\n/etc/unstick.toml has: none\.$'):
        read("").context("x")
    assert read(SETTINGS).context("prod").production


def test_the_path_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("UNSTICK_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert config.path_of().name == "config.toml"
    assert config.path_of().parent.name == "unstick"
    assert config.shown(config.path_of()).startswith("~/")
    monkeypatch.setenv("UNSTICK_CONFIG", "~/mine.toml")
    assert config.path_of() == tmp_path / "mine.toml"
    assert config.path_of("other.toml") == Path("other.toml")


def test_only_a_given_file_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "none.toml"
    monkeypatch.setenv("UNSTICK_CONFIG", str(missing))
    assert config.load() == Config(path=missing)
    with pytest.raises(ConfigError, match="there is no such file"):
        config.load(str(missing))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"#" * (config.SETTINGS_BYTES + 1))
    with pytest.raises(ConfigError, match="large: it has more than 1024 kB, so it is no settings file"):
        config.load(str(tmp_path / "large"))
    with pytest.raises(ConfigError, match="It is a device"):
        config.load("/dev/zero")
    with pytest.raises(ConfigError, match="it cannot be read: Is a directory"):
        config.load(str(tmp_path))
    file = tmp_path / "latin.toml"
    file.write_bytes(b"# fine\ntheme = '\xe9'\n")
    with pytest.raises(ConfigError, match=r"latin\.toml:2: it is not UTF-8$"):
        config.load(str(file))


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbfascii = true\r\n")
    assert config.load(str(file)).ascii


def test_settings_do_not_print_passwords() -> None:
    assert "hunter2" not in repr(read(SETTINGS))


# durations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (30, 30),
        (1.5, 1.5),
        ("30", 30),
        ("90s", 90),
        ("10m", 600),
        ("2h", 7200),
        ("1d", 86400),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("250ms", 0.25),
        ("500us", 0.0005),
        ("2H", 7200),
        ("1 h", 3600),
        ("0", 0),
    ],
)
def test_durations(written: object, seconds: float) -> None:
    assert duration.parse(written) == seconds


@pytest.mark.parametrize("written", [True, None, "", "m", 10**400, "1e3", "9" * 400, "1m-", "10 m x"])
def test_an_unreadable_duration(written: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration.parse(written)


# passwords ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dsn", "safe"),
    [
        ("postgresql://u:pw@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgres://u:p@w/x?y@h/db", "postgres://u:***@h/db"),
        ("postgres://:pw@h", "postgres://:***@h"),
        (
            "postgresql://h/db?user=u&password=pw&sslmode=require",
            "postgresql://h/db?user=u&password=***&sslmode=require",
        ),
        ("postgresql://h/db?pass%77ord=pw&sslpassword=", "postgresql://h/db?pass%77ord=***&sslpassword=***"),
        ("host=h password=pw user=u", "host=h password=*** user=u"),
        (r"host=h PASSWORD = 'p w\' x' user=u", "host=h PASSWORD = *** user=u"),
        ("password='never closed pw", "password=***"),
        ("u:pw@h/db", "u:***@h/db"),
        ("postgres//u:pw@h/db", "postgres//u:***@h/db"),
        ("postgresql:/u:p:w@h/db", "postgresql:/u:***@h/db"),
        ("//u:pw@h/db", "//u:***@h/db"),
        ("postgres:u:pw@h/db", "postgres:***@h/db"),
        ("postgres;//u:pw@h/db?passwd=pw", "postgres;//u:***@h/db?passwd=***"),
        ("host=h passwd=pw user=u", "host=h passwd=*** user=u"),
        ("host=h sslpassword = 'p w' PassPhrase=pw pwd=pw", "host=h sslpassword = *** PassPhrase=*** pwd=***"),
        ("PGPASSWORD=pw", "PGPASSWORD=***"),
        ("postgresql://h/db?passwd=pw&pwd=pw&passfile=/f", "postgresql://h/db?passwd=***&pwd=***&passfile=/f"),
        ("postgresql://h/db password=pw", "postgresql://h/db password=***"),
        ("host=h passfile=/home/u/.pgpass", "host=h passfile=/home/u/.pgpass"),
        ("postgresql://h:5432/db", "postgresql://h:5432/db"),
        (
            "postgresql://u@h1:1,h2:2/db?target_session_attrs=read-write",
            "postgresql://u@h1:1,h2:2/db?target_session_attrs=read-write",
        ),
        ("host=h dbname=d options='-c a=b:c'", "host=h dbname=d options='-c a=b:c'"),
        ("", ""),
        ("tasks", "tasks"),
    ],
)
def test_connection_strings_without_their_passwords(dsn: str, safe: str) -> None:
    assert redact(dsn) == safe


@given(st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1))
def test_no_password_gets_through(noise: str) -> None:
    password = f"hunter2{noise}hunter2"
    escaped = password.replace("\\", "\\\\").replace("'", "\\'")
    for dsn in (
        f"postgresql://u:{password}@h/db",
        f"postgresql://u:{quote(password, safe='')}@h/db",
        f"postgresql://h/db?password={quote(password, safe='')}",
        f"host=h password='{escaped}' user=u",
        f"host=h passwd='{escaped}' user=u",
        f"postgres//u:{password}@h/db",
        f"//u:{password}@h/db",
    ):
        assert "hunter2" not in redact(dsn), dsn
        assert "hunter2" not in redact_message(f"{dsn} and {dsn!r}", [dsn]), dsn


def test_options_are_text_or_tables_of_text() -> None:
    config = read(
        '[options.parcels]\nprofile = "table"\n[options.parcels.names]\n13 = "X"\n[thresholds.parcels]\nlate = 60\n'
    )
    assert config.overrides() == {"parcels": {"late": 60.0, "profile": "table", "names": {"13": "X"}}}
    with pytest.raises(ConfigError, match=r':2: options.parcels.profile is not an option .*did you mean "profiles"'):
        config.check({"parcels": {"late"}}, {"parcels": {"profiles", "names"}})
    with pytest.raises(ConfigError, match=r":2: options.parcels.profile must be"):
        read("[options.parcels]\nprofile = 3\n")


def test_the_console_starts_with_what_is_stuck(tmp_path: Path) -> None:
    assert config.parse("", tmp_path / "config.toml").start == "stuck"
    assert config.parse('start = "tree"', tmp_path / "config.toml").start == "tree"
    with pytest.raises(config.ConfigError, match=r"config.toml:1.*start.*did you mean"):
        config.parse('start = "stuk"', tmp_path / "config.toml")
