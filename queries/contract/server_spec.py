"""Load the findings about the server: ``server.toml`` and its statements."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import force_setattr

from queries.contract.builtin import cached
from queries.contract.spec import FindingSpec
from queries.files.statement import Statement, parse_statement, sql_text
from queries.records.record import Record
from queries.text import duration

LABEL = "server"  # for the server, where a finding names its engine
FOLDER = Path(__file__).parents[1] / LABEL


class ServerSpec(Record, forbid_unknown_fields=True):
    """The content of ``server.toml``.

    ``groups`` are codes of engines' findings, which a rule names together by the name of the group.
    ``parts`` are the statements in ``findings/``, each with the findings that its rows report.
    """

    groups: dict[str, tuple[str, ...]] = {}
    titles: dict[str, str] = {}  # by code, other than its words
    parts: dict[str, tuple[str, ...]] = {}
    thresholds: dict[str, str | int | float] = {}  # durations or numbers
    findings: tuple[FindingSpec, ...] = ()

    def __post_init__(self) -> None:
        if self.groups or self.titles:
            force_setattr(self, "findings", tuple(map(self._completed, self.findings)))

    @property
    def settings(self) -> dict[str, float]:
        """Thresholds in seconds, or as numbers."""
        return {name: duration.parse(value) for name, value in self.thresholds.items()}

    @property
    def codes(self) -> dict[str, FindingSpec]:
        """The findings by code."""
        return {spec.code: spec for spec in self.findings}

    def _completed(self, finding: FindingSpec) -> FindingSpec:
        """Return the finding with its title and the codes of groups."""
        explains = {
            fields: tuple(code for name in names for code in self.groups.get(name, (name,)))
            for fields, names in finding.explains.items()
        }
        title = self.titles.get(finding.code, finding.title)
        return msgspec.structs.replace(finding, title=title, explains=explains)


def server_spec() -> ServerSpec:
    """Return the findings about the server."""
    return _loaded()[0]


def server_statement(part: str) -> Statement:
    """Return the statement of one part: ``findings/<part>.sql``."""
    return _loaded()[1][part]


@cache
def _loaded() -> tuple[ServerSpec, dict[str, Statement]]:
    return cached("server", [FOLDER], tuple[ServerSpec, dict[str, Statement]], _parsed)


def _parsed() -> tuple[ServerSpec, dict[str, Statement]]:
    from queries.contract.document import in_full
    from queries.files.toml_file import TomlFile

    path = FOLDER / "server.toml"
    spec = TomlFile(str(path), path.read_text("utf-8")).decode(ServerSpec, in_full)
    statements = {part: parse_statement(sql_text(FOLDER / "findings" / f"{part}.sql")) for part in spec.parts}
    return spec, statements
