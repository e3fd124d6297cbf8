"""Promises of a release: locked dependencies, pinned actions, short notes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from tests.command import ROOT
from tests.promises import workflow

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOTES_LINES, NOTES_COLUMNS = 60, 160
NAMED = "https://github.com/named/unstick"


def load(file: str) -> ModuleType:
    """Return a module that is in no package."""
    spec = util.spec_from_file_location(Path(file).stem, ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.fast
@pytest.mark.parametrize("version", ["Unreleased", PROJECT["version"]])
def test_the_notes_of_a_version_are_short(version: str) -> None:
    """Shorten lines before you add one: a reader gets the newest behaviour by topic."""
    text = (ROOT / "CHANGELOG.md").read_text()
    (notes,) = re.findall(rf"(?ms)^## \[{re.escape(version)}\].*?(?=^## |\Z)", text)
    assert len(notes.splitlines()) <= NOTES_LINES
    assert max(map(len, notes.splitlines())) <= NOTES_COLUMNS


def test_the_publishing_job_runs_nothing_but_pinned_actions() -> None:
    jobs = workflow("release.yml")["jobs"]
    publish = jobs.pop("publish")
    assert publish["permissions"] == {"id-token": "write"}
    used = [step.pop("uses").partition("@")[0] for step in publish["steps"]]
    assert used == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert publish["steps"] == [{"with": {"name": "packages", "path": "dist/"}}, {}]
    assert not any("environment" in job for job in jobs.values())


@pytest.mark.parametrize(
    ("tag", "repository", "address", "said"),
    [
        (f"v{PROJECT['version']}", "named/unstick", NAMED, ""),
        (f"v{PROJECT['version']}", "fork/unstick", NAMED, "This repository is 'fork/unstick'"),
        (f"v{PROJECT['version']}", "named/unstick", "", "has no [project.urls] Repository"),
        ("v9.9", "named/unstick", NAMED, "The tag 'v9.9' is not the version"),
    ],
)
def test_the_release_refuses_a_wrong_tag_and_a_wrong_address(
    tag: str, repository: str, address: str, said: str, tmp_path: Path
) -> None:
    """Run the step of the workflow on a copy of pyproject.toml with this address."""
    steps = [step.get("run", "") for step in workflow("release.yml")["jobs"]["build"]["steps"]]
    (command,) = [step for step in steps if step.startswith("python ") and step.endswith(" check")]
    urls = f'urls.Repository = "{address}"\n' if address else ""
    (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "{PROJECT["version"]}"\n{urls}')
    shutil.copytree(ROOT / "packaging", tmp_path / "packaging")
    environment = {"GITHUB_REF_NAME": tag, "GITHUB_REPOSITORY": repository}
    ran = subprocess.run(
        [sys.executable, *command.split()[1:]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, said in ran.stderr) == (int(bool(said)), True), ran.stderr


@pytest.mark.parametrize("named", ["", NAMED])
def test_the_recipes_are_filled_in(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = load("packaging/release.py")
    names = ["unstick-{}.tar.gz", "unstick-{}-py3-none-any.whl"]
    for name in names:
        (tmp_path / name.format(PROJECT["version"])).write_text("")
    (tmp_path / "requirements.txt").write_text(
        "click==8.3.0\\\n    --hash=...\ntextual==8.2.8\nembedded-postgres==18\n"
    )
    monkeypatch.setattr(release, "DIST", tmp_path)
    monkeypatch.setattr(release, "ADDRESS", named)
    release.recipes()
    formula, recipe = ((tmp_path / name).read_text() for name in ("unstick.rb", "PKGBUILD"))
    assert not re.search(r"@[A-Z]|template", formula + recipe)
    assert re.findall(r'resource "(.*)" do', formula) == ["click", "textual"]
    assert len(re.findall(r'sha256 "[0-9a-f]{64}"', formula)) == 3
    files = f"{named}/releases/download/v{PROJECT['version']}" if named else tmp_path.as_uri()
    assert f'url "{files}/unstick-{PROJECT["version"]}.tar.gz"' in formula
    assert f'source=("{files}/unstick-$pkgver-py3-none-any.whl" "{files}/requirements.txt")' in recipe
    subprocess.run(["bash", "-n", tmp_path / "PKGBUILD"], check=True, timeout=60)


def test_the_image_is_made_of_pinned_parts_and_does_not_run_as_root() -> None:
    lines = (ROOT / "packaging" / "Dockerfile").read_text().splitlines()
    bases = [line for line in lines if line.startswith("FROM")]
    assert [
        line for line in bases if not re.search(r" python:[\d.]+-slim@sha256:[0-9a-f]{64}( AS build)?$", line)
    ] == []
    installs = [line for line in lines if "pip install" in line]
    assert [line for line in installs if not re.search("--require-hashes|--no-index --no-deps", line)] == []
    assert lines.index("USER unstick") == len(lines) - 2


def test_links_of_the_readme_are_absolute_on_the_package_index() -> None:
    absolute = load("packaging/hatch_build.py").absolute
    rest = " [uv](https://docs.astral.sh/uv/) <!-- [y](z -->"
    text = f"![a picture](screenshots/a.svg) [safety](docs/safety.md#x){rest}"
    picture, page = f"{NAMED}/raw/v1.2/screenshots/a.svg", f"{NAMED}/blob/v1.2/docs/safety.md#x"
    assert absolute(text, NAMED, "1.2") == f"![a picture]({picture}) [safety]({page}){rest}"
    assert absolute(text, "", "1.2") == f" safety{rest}"
