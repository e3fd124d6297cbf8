"""A system without a module of POSIX, such as Windows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.command import ROOT
from tests.packaging.installed import clean

pytestmark = pytest.mark.fast

WITHOUT = "import runpy, sys; sys.modules['fcntl'] = None; runpy.run_module('{}', run_name='__main__')"


@pytest.mark.parametrize("module", ["unstick", "console"])
def test_the_program_says_in_one_line_where_it_runs(module: str) -> None:
    command = [sys.executable, "-c", WITHOUT.format(module)]
    answer = subprocess.run(command, cwd=ROOT, env=clean(), capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert (
        answer.stderr
        == f"unstick: it runs on Linux and macOS, not on this system ({sys.platform}). On Windows, use WSL\n"
    )
