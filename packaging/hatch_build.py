"""Add the manual page and the shell completions to the wheel, and the README to its metadata."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# The words of the command that prints a file, and its place in the environment.
SHARED = {
    "man": "share/man/man1/unstick.1",
    "completion bash": "share/bash-completion/completions/unstick",
    "completion zsh": "share/zsh/site-functions/_unstick",
    "completion fish": "share/fish/vendor_completions.d/unstick.fish",
}
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)]+)\)")


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


class Readme(MetadataHookInterface):
    """Make the README readable on the package index, where its relative links lead nowhere."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        address = metadata.get("urls", {}).get("Repository", "")
        text = absolute(text, address, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, address: str, version: str) -> str:
    """Return Markdown whose relative links and pictures lead to the files of a version.

    Without an address of the repository, a link becomes its words, and a picture is left out.
    """

    def replaced(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if not address:
            return "" if picture else words
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return RELATIVE.sub(replaced, text)
