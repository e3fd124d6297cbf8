"""The documents name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import ROOT

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
DOCUMENTS = [*sorted((ROOT / "docs").rglob("*.md")), *TOP]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_and_links_lead_somewhere(document: Path) -> None:
    text = document.read_text("utf-8")
    paths = re.findall(r"(?<![\w/.-])((?:console|queries|tests|docs)/[\w./-]+\w)", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []
