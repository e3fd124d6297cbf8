"""Load the findings about the server: ``server.toml`` and its statements."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from queries import duration
from queries.contract.spec import FindingSpec
from queries.contract.spec_cache import cached
from queries.model import Record
from queries.statement import PARAMETERS, Statement, parse_statement

LABEL = "server"  # for the server, where a finding names its engine
FOLDER = Path(__file__).parents[1] / LABEL


class ServerSpec(Record, forbid_unknown_fields=True):
    """The content of ``server.toml``.

    ``parts`` are the statements in ``findings/``, each with the findings that its rows report.
    """

    parts: dict[str, tuple[str, ...]] = {}
    thresholds: dict[str, str | int | float] = {}  # durations or numbers
    findings: tuple[FindingSpec, ...] = ()

    @property
    def settings(self) -> dict[str, float]:
        """Thresholds in seconds, or as numbers."""
        return {name: duration.parse(value) for name, value in self.thresholds.items()}


@cache
def server_spec() -> ServerSpec:
    """Return the findings about the server."""
    return cached("server", [FOLDER], ServerSpec, _parsed)


def _parsed() -> ServerSpec:
    from queries import strict_toml

    path = FOLDER / "server.toml"
    return strict_toml.TomlFile(str(path), path.read_text("utf-8")).decode(ServerSpec)


@cache
def server_statement(part: str) -> Statement:
    """Return the statement of one part: ``findings/<part>.sql``."""
    file = FOLDER / "findings" / f"{part}.sql"
    return parse_statement(file.read_text("utf-8"), str(file), PARAMETERS)
