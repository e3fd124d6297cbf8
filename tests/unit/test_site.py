"""``make docs``: the site is built without a warning, with each picture."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.command import ROOT
from tests.pictures import missing

SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]


def pages(nav: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        for page in entry.values():
            found += pages(page) if isinstance(page, list) else [page]
    return found


def test_each_page_is_in_the_menu() -> None:
    docs = ROOT / "docs"
    written = {str(path.relative_to(docs)) for path in docs.rglob("*.md") if path.parent.name != "decisions"}
    assert sorted(pages(SETTINGS["nav"])) == sorted(written)


def build(clone: Path) -> subprocess.CompletedProcess[str]:
    """Run ``make docs`` with the tests' environment, which has the extra ``docs``."""
    command = ["make", "docs", f"BIN={Path(sys.executable).parent}", "--assume-old=.venv/.docs"]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=300)


def test_the_site_of_a_clone_has_each_page_and_picture_and_what_is_missing_is_an_error(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "clone"], check=True, timeout=60)
    clone, site = tmp_path / "clone", tmp_path / "clone" / SETTINGS["site_dir"]
    built = build(clone)
    assert built.returncode == 0, built.stdout + built.stderr
    made = {str(path.relative_to(site)) for path in site.rglob("*")}
    assert {page.removesuffix(".md") + ".html" for page in pages(SETTINGS["nav"])} <= made
    assert {f"screenshots/{picture.name}" for picture in (ROOT / "screenshots").glob("*.svg")} <= made
    assert "tests.pictures" in built.stdout
    (site / "screenshots/dag.svg").unlink()
    assert missing(site) == ["screen.html: there is no screenshots/dag.svg"]
    with (clone / "docs/index.md").open("a") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    broken = build(clone)
    assert broken.returncode != 0
    assert "page does not exist" in broken.stderr
