"""Lists of bulks that another user may have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from queries.errors import DatabaseError
from queries.write import bulk_list


def test_a_list_that_others_can_write_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "b0123abcd.jsonl"
    path.write_text("{}")
    path.chmod(0o666)
    with pytest.raises(DatabaseError, match=r"b0123abcd\.jsonl is not used: it can be written by other users"):
        bulk_list.load(tmp_path, "b0123abcd", cast(Any, None))
