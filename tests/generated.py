"""Parts of documents that are made from the code.

``UPDATE_GOLDEN=1`` rewrites them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path


def is_as_made(document: Path, name: str, made: str) -> None:
    """Assert that a document has this text after ``<!-- name -->``."""
    text = document.read_text("utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    (found,) = pattern.findall(text)
    if os.environ.get("UPDATE_GOLDEN"):
        document.write_text(pattern.sub(lambda match: f"{match[1]}{made}{match[3]}", text), "utf-8")
    else:
        assert found[1] == made, f"{document.name}: run this test with UPDATE_GOLDEN=1"
