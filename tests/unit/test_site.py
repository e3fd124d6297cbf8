"""``make docs``: the site is built without a warning."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.command import ROOT

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


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_site_is_built_and_a_broken_link_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / SETTINGS["site_dir"]
    assert {page.removesuffix(".md") + ".html" for page in pages(SETTINGS["nav"])} <= {
        str(path.relative_to(site)) for path in site.rglob("*.html")
    }
    assert (site / "screenshots/story.svg").exists()
    with (tmp_path / "docs/index.md").open("a") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    assert build(tmp_path).returncode != 0
