"""The image's installation: locked dependencies by hash, and the built wheel."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.packaging.first_list import shows_its_first_list
from tests.packaging.installed import UV, Environment, run

SECONDS = 300.0


@pytest.mark.proof
@pytest.mark.usefixtures("registry")
def test_the_demo_of_the_image_shows_its_first_list(wheel: Path, tmp_path: Path) -> None:
    """Run the lines of the Dockerfile in other folders."""
    dist, environment = tmp_path / "dist", Environment(tmp_path / "venv")
    dist.mkdir()
    shutil.copy(wheel, dist)
    (export,) = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if line.endswith("dist/requirements.txt")
    ]
    run(UV, *export.split()[1:-1], str(dist / "requirements.txt"))
    for line in (ROOT / "packaging" / "Dockerfile").read_text().splitlines():
        if line.startswith("RUN") and "/opt/unstick" in line:
            command = (
                line.removeprefix("RUN ").replace("/opt/unstick", str(environment.folder)).replace("/dist", str(dist))
            )
            run("sh", "-c", f"PATH={Path(sys.executable).parent}:$PATH; {command}", seconds=SECONDS)
    shows_its_first_list(environment.unstick, "demo", home=tmp_path)
