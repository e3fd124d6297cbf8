"""Filter language: matches, error messages, and parsing of printed filters."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from console.model.fields.field import DURATIONS, WORDS, Context
from console.model.fields.node import FIELDS
from console.model.filter import NODES, Filter, FilterError, Term, Value, parse
from queries.records.node import Node, Phase

NOW = 1_000_000.0
AT = Context(now=NOW)
MAIL = Node(
    engine="eternaltwin",
    id="eternaltwin/task:3f0e",
    kind="task",
    title="SendMail v2",
    phase=Phase.BLOCKED,
    version="1",
    status="Blocked",
    revision=120,
    created_at=NOW - 2 * 3600 - 1,
    changed_at=NOW - 10,
    owner="runner-7:host",
    attempts=3,
    error='no route to "smtp!host"',
    findings=("overdue_timer",),
)
BARE = Node(engine="estuary", id="estuary/job:1", kind="job", title="Plain", phase=Phase.DONE, version="1")


@pytest.mark.parametrize(
    ("text", "mail", "bare"),
    [
        ("", True, True),
        ("sendmail", True, False),
        ("MAIL v2", True, False),
        ('"mail v2"', True, False),
        ("v2 plain", False, False),
        ("3f0e", True, False),
        ("eternaltwin/task:3f0e", True, False),
        ('"smtp!host"', True, False),
        ('"\\"smtp"', True, False),
        ("!mail", False, True),
        ("status:block", True, False),
        ("status:=block", False, False),
        ("status:=blocked", True, False),
        ("!status:blocked", False, True),
        ("phase:failed,blocked", True, False),
        ("phase:d", False, True),
        ("kind:task", True, False),
        ("engine:est", False, True),
        ("owner:host", True, False),
        ("owner:=host", False, False),
        ("age:>2h", True, False),
        ("age:>2h1s", False, False),
        ("age:>=2h1s", True, False),
        ("age:<30s", False, False),
        ("!age:<30s", True, True),
        ("idle:<30s", True, False),
        ("age:<0.1w age:>7200", True, False),
        ("revision:>100", True, False),
        ("revision:120", True, False),
        ("revision:1,120", True, False),
        ("revision:<=119", False, False),
        ("attempts:>2 attempts:<4", True, False),
        ("finding:any", True, False),
        ("finding:none", False, True),
        ("finding:overdue", True, False),
        ("finding:=overdue", False, False),
        ("FINDING:Overdue_Timer", True, False),
    ],
)
def test_matching(text: str, mail: bool, bare: bool) -> None:
    typed = parse(text)
    assert (NODES.matches(typed, AT)(MAIL), NODES.matches(typed, AT)(BARE)) == (mail, bare)


def test_findings_of_the_console_itself_count() -> None:
    context = Context(now=NOW, codes={BARE.id: ["spinning"]})
    assert NODES.matches(parse("finding:spin"), context)(BARE)
    assert not NODES.matches(parse("finding:none"), context)(BARE)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("mail stauts:x", 5, "did you mean status:?"),
        ("zzz:x", 0, "there are age, attempts"),
        ("http://x", 0, "quote it"),
        ("!", 0, "a word is missing after the !"),
        ("status:", 7, "needs a value"),
        ("phase:a,", 6, "no phase 'a'"),
        ("phase:failed,", 13, "needs a value"),
        ("phase:faild", 6, "did you mean failed?"),
        ("phase:=fail", 6, "did you mean failed?"),
        ("status:>x", 7, "cannot be compared"),
        ("age:2h", 4, "compared with > or <"),
        ("age:>2 h", None, None),
        ("age:>soon", 5, "cannot read 'soon'"),
        ("age:>2h3", 5, "cannot read"),
        ("revision:many", 9, "e.g. revision:>3"),
        ('"open', 0, "not closed"),
        ('a"b', 1, "a space is missing"),
        ('""', 0, "a word is missing"),
    ],
)
def test_mistakes_are_named_where_they_are(text: str, position: int | None, says: str | None) -> None:
    if says is None:
        parse(text)
        return
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.position == position
    assert says in caught.value.message


def test_printing_is_what_one_would_type() -> None:
    text = 'mail "two words" !phase:failed,held age:>2h status:=Done owner:"a b"'
    assert str(parse(text)) == text


FORMS = {field.name: field.form for field in FIELDS}
TEXT = st.text(min_size=1, max_size=12) | st.text(alphabet='ab "\\!:,<>= \n', min_size=1, max_size=8)


def term(field: str) -> st.SearchStrategy[Term]:
    if FORMS[field] in DURATIONS:
        number = st.integers(0, 10**6)
        value = st.builds(
            lambda n, op: Value(text=f"{n}m", op=op, number=n * 60.0), number, st.sampled_from(["<", ">", "<=", ">="])
        )
    elif FORMS[field] not in WORDS:
        ops = st.sampled_from(["", "=", "<", ">", "<=", ">="])
        value = st.builds(lambda n, op: Value(text=str(n), op=op, number=n), st.integers(-(10**9), 10**9), ops)
    elif field == "phase":
        value = st.builds(
            lambda phase, op: Value(text=phase, op=op), st.sampled_from(Phase), st.sampled_from(["", "="])
        )
    else:
        value = st.builds(lambda text, op: Value(text=text, op=op), TEXT, st.sampled_from(["", "="]))
    many = st.lists(value, min_size=1, max_size=3).map(tuple)
    return st.builds(lambda values, negated: Term(field=field, values=values, negated=negated), many, st.booleans())


WORD = st.builds(lambda text, no: Term(field="", values=(Value(text=text),), negated=no), TEXT, st.booleans())
FILTERS = st.lists(WORD | st.sampled_from(NODES.names).flatmap(term), max_size=4).map(
    lambda terms: Filter(terms=tuple(terms))
)


@given(FILTERS)
def test_parse_reads_what_str_prints(filter: Filter) -> None:
    assert parse(str(filter)) == filter


@given(st.text(alphabet='age:>2hstatus"!,\\ <=', max_size=20) | st.text(max_size=20))
@example("age:>" + "9" * 400 + "h")
def test_any_text_is_a_filter_or_an_explained_mistake(text: str) -> None:
    try:
        typed = parse(text)
    except FilterError as error:
        mistake = error
    else:
        assert parse(str(typed)) == typed
        assert NODES.matches(typed, Context(now=math.inf))(MAIL) in (True, False)
        return
    assert mistake.message
    assert 0 <= mistake.position <= len(text)


def test_every_field_is_explained_by_an_example_that_works() -> None:
    for field in NODES.names:
        with pytest.raises(FilterError) as caught:
            parse(f"{field}:")
        parse(caught.value.message.rpartition("e.g. ")[2])


@pytest.mark.parametrize("text", ["document.user:7", "host-name:5432", "x_1:2"])
def test_a_word_with_a_colon_that_is_no_field_is_an_error_that_names_the_fields(text: str) -> None:
    with pytest.raises(FilterError, match=rf"no field {text.partition(':')[0]}: .*phase.*quote it"):
        parse(text)


@pytest.mark.parametrize("text", ["12:30", '"document.user:7"', "eternaltwin/task:7"])
def test_other_colons_are_text(text: str) -> None:
    assert [term.field for term in parse(text).terms] == [""]
