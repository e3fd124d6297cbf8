"""``find``: nodes of all engines by an id or a part of their texts."""

from __future__ import annotations

from collections.abc import Sequence

from click import UsageError

from console.cli import tables
from console.cli.exit_codes import FAILED, SKIPPED
from console.cli.output import output_for, say
from console.cli.target import access_warnings, only, opened
from console.model.fields.field import Context
from console.model.fields.hit import FIELDS
from console.target import Target
from console.text.views import search as views
from queries.read.search import is_full, search, sought, sure
from queries.records.node import Hits, Search
from queries.workspace import Workspace


async def find(target: Target, words: Sequence[str], *, large: bool) -> int:
    """List the nodes that match, as the engines answer.

    ``large``: search values of any size. Return the exit code: 3 if there is none.
    """
    output, text = output_for(target), " ".join(words)
    answers: list[Hits] = []
    async with opened(target) as workspace:
        query = sought(text, workspace.engines.values())
        if not query.ids:
            raise UsageError("There is no text to search for.")
        async for answer in search(workspace.engines, query, large=large):
            answers.append(answer)
            if not output.json and answer.hits:
                output.rows(tables.listed(FIELDS, answer.hits, Context(now=answer.at, ascii=output.ascii)))
        warnings = access_warnings(workspace, workspace.engines.values())
    if output.json:
        output.answer(Search(text=text, ids=query.ids, engines=tuple(answers)), lambda: ())
    else:
        output.rows(())  # says that a standby answers
    say(*warnings, *views.notes(query, answers, workspace.declined_alike, larger="`--large`"))
    # A lock of a moment, such as autovacuum's at the end of a table, keeps nothing from being searched.
    lacking = bool(workspace.locked and workspace.declined)
    if warnings or lacking or any(answer.unreadable for answer in answers):
        return FAILED
    return 0 if any(answer.hits for answer in answers) else SKIPPED


async def node_id(workspace: Workspace, text: str) -> str:
    """Return the full id of the node that ``text`` names, or "" if there is none.

    A full id is returned as it is. Reports to stderr which engines were searched, and raises UsageError with the full
    ids of several nodes. Raises UnknownIdError for a full id of an unknown engine or kind.
    """
    owned = any(reader.ids.owns(text) for reader in workspace.engines.values())  # a schema may have any name
    if owned or is_full(text):
        workspace.reader(text)
        return text
    query = sought(text, workspace.engines.values())
    answers = [answer async for answer in search(workspace.engines, query, texts=False)]
    nodes = sure(answers)
    if nodes:
        return only(text, nodes)
    say(f"{text} was not found.", *views.notes(query, answers, workspace.declined_alike))
    return ""
