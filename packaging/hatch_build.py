"""Add the manual page and the shell completions to the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The words of the command that prints a file, and its place in the environment.
SHARED = {
    "man": "share/man/man1/unstick.1",
    "completion bash": "share/bash-completion/completions/unstick",
    "completion zsh": "share/zsh/site-functions/_unstick",
    "completion fish": "share/fish/vendor_completions.d/unstick.fish",
}


class SharedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Run the program of this source tree, and pack what it prints."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        folder = Path(self.root, "build", "shared")
        for words, place in SHARED.items():
            file = folder / place
            file.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "console", *words.split()]
            file.write_bytes(subprocess.run(command, cwd=self.root, check=True, stdout=subprocess.PIPE).stdout)
            build_data["shared_data"][str(file)] = place
