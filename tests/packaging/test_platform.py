"""A system without the modules of POSIX, such as Windows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.command import ROOT
from tests.packaging.installed import clean

pytestmark = pytest.mark.fast

WITHOUT = """
import importlib.machinery, runpy, sys
class Windows(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, *arguments, **named):
        return None if name in ("fcntl", "termios", "pwd") else super().find_spec(name, *arguments, **named)
sys.modules.pop("fcntl", None)
sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, Windows]
sys.argv = ["unstick", "stuck"]
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", ["unstick", "console"])
def test_the_program_says_in_one_line_where_it_runs(module: str) -> None:
    command = [sys.executable, "-c", WITHOUT.format(module=module)]
    answer = subprocess.run(command, cwd=ROOT, env=clean(), capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert (
        answer.stderr
        == f"unstick: it runs on Linux and macOS, not on this system ({sys.platform}). On Windows, use WSL\n"
    )
