"""Fail if a page of a built site refers to a picture that does not exist.

``make docs`` runs it: Zensical checks links, and no pictures. It needs the standard library only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def missing(site: Path) -> list[str]:
    """Return the page and path of each missing picture."""
    return [
        f"{page.relative_to(site)}: there is no {picture}"
        for page in sorted(site.rglob("*.html"))
        for picture in re.findall(r"""(?:src|href)=["']?([^"'\s>:]+\.svg)""", page.read_text("utf-8"))
        if not (page.parent / picture).exists()
    ]


if __name__ == "__main__":
    sys.exit("\n".join(missing(Path(sys.argv[1]))) or None)
