"""Pages about messages, files, licences and the network agree with the code."""

from __future__ import annotations

import ast
import re
from importlib.metadata import distribution

from packaging.requirements import Requirement

from tests.command import ROOT

DOCS = ROOT / "docs"
CODE = [ROOT / "unstick.py", *(ROOT / "console").rglob("*.py"), *(ROOT / "queries").rglob("*.py")]
NETWORK = {"http", "urllib.request", "urllib3", "ftplib", "smtplib", "xmlrpc", "socketserver", "requests", "httpx"}


def rows(page: str, name: str) -> list[list[str]]:
    """Return the cells of a marked table."""
    part = (DOCS / page).read_text().partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.strip().splitlines()[2:]]


def required(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """Return the packages that come with a package."""
    found: set[str] = set()
    for each in map(Requirement, distribution(name).requires or ()):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            found |= {each.name.lower(), *required(each.name, tuple(each.extras))}
    return found


def licence(name: str) -> str:
    """Return the licence that the metadata of a package names."""
    metadata = distribution(name).metadata
    classes = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier") or () if "License ::" in each]
    named = metadata.get("License-Expression") or metadata.get("License") or classes[0]
    return {"MIT License": "MIT", "Apache Software License": "Apache-2.0"}.get(named, named)


def test_licences_are_those_of_the_installed_packages() -> None:
    stated = {cells[0]: cells[1] for cells in rows("licences.md", "packages")}
    assert stated == {name: licence(name) for name in required("unstick", ("demo",))}


def test_each_file_of_the_user_is_on_the_page_about_its_removal() -> None:
    folders: dict[str, str] = {}
    place = ""
    for cells in rows("uninstall.md", "folders"):
        place = cells[0].strip("`") or place
        folders[place] = folders.get(place, "") + cells[1]
    text = "\n".join(path.read_text() for path in CODE)
    written = re.findall(r'folder\("(config|state|cache)"\) / f?"([^"{]+)', text)
    assert len(written) > 5
    at = {"config": "~/.config/unstick", "state": "~/.local/state/unstick", "cache": "~/.cache/unstick"}
    assert [name for purpose, name in written if name not in folders[at[purpose]]] == []
    assert [name for name in re.findall(r'cached\(\s*"(\w+)"', text) if f"`{name}`" not in folders[at["cache"]]] == []


def test_nothing_can_connect_to_anything_but_the_server() -> None:
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert NETWORK.isdisjoint(names), path


def source_text() -> str:
    """Return the strings of the code but docstrings, and the server's findings."""
    found: list[str] = []
    for path in CODE:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        strings = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in documented]
        found += [node.value for node in strings if isinstance(node.value, str)]
    found += [path.read_text() for path in (ROOT / "queries/server").rglob("*.*")]
    return "\n".join(found).replace("`", "")


def fixed_words(message: str) -> list[str]:
    """Return the parts of a message between the places of names."""
    return [part for part in (each.strip(" .:;,/") for each in message.split("…")) if len(part) > 2]


def test_each_message_is_one_of_the_program() -> None:
    messages = re.findall(r"^\| `([^`]+)` \|", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(messages) > 30
    text = source_text()
    assert [part for message in messages for part in fixed_words(message) if part not in text] == []
    assert fixed_words("… of … is not of this program.")[-1] not in text
