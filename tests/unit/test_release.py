"""Promises of a release: locked dependencies, pinned actions, short notes."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.command import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOTES_LINES = 60


def test_actions_are_pinned_by_digest() -> None:
    used = [
        line.strip()
        for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [line for line in used if not re.search(r"uses: [\w/-]+@[0-9a-f]{40} # v[\d.]+$", line)] == []


def test_the_lock_agrees_with_the_project() -> None:
    command = [str(Path(sys.executable).with_name("uv")), "lock", "--check", "--offline"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr


def test_every_locked_file_has_a_hash() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    files = [file for each in packages for file in (*each.get("wheels", ()), *filter(None, [each.get("sdist")]))]
    assert files
    assert [file["url"] for file in files if not file.get("hash", "").startswith("sha256:")] == []


def test_the_notes_of_the_version_are_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    (notes,) = re.findall(rf"(?ms)^## \[{re.escape(PROJECT['version'])}\].*?(?=^## |\Z)", text)
    assert len(notes.splitlines()) <= NOTES_LINES, "write new lines under [Unreleased], also after a merge"


def test_recipes_name_the_version() -> None:
    assert f"unstick-{PROJECT['version']}.tar.gz" in (ROOT / "packaging" / "unstick.rb").read_text()
    assert f"pkgver={PROJECT['version']}\n" in (ROOT / "packaging" / "PKGBUILD").read_text()


def test_the_image_does_not_run_as_root() -> None:
    lines = (ROOT / "packaging" / "Dockerfile").read_text().splitlines()
    assert "USER unstick" in lines
    assert lines.index("USER unstick") == len(lines) - 2
