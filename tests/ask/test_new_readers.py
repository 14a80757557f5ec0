"""``changes``: new readers of what rows give without an id, and others with it, under a former name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import B, changed
from tests.ask.test_two_forms import read

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
RENAMED: Final = changed(3, B, {"objectName": {"value": "D.S.NEW"}})
NAMELESS: Final = {"objectDomain": "Table", "objectName": "D.S.NEW"}
NOW: Final = {**B, "objectName": "D.S.NEW"}
BEN: Final = {"user_name": "BEN"}


@pytest.mark.parametrize(
    ("rows", "is_told"),
    [
        ([read(2, B), RENAMED, read(4, NOW), read(5, NAMELESS)], False),
        ([read(2, B), RENAMED, {**read(4, NOW), **BEN}, read(5, NAMELESS)], True),
        ([read(2, B), RENAMED, read(4, NOW), {**read(5, NAMELESS), **BEN}], False),
        ([read(2, B), RENAMED, read(4, NOW), read(5, NOW), {**read(6, NAMELESS), **BEN}], False),
    ],
)
def test_a_reader_under_the_former_name_may_not_be_new(rows: list[Json], *, is_told: bool, tmp_path: Path) -> None:
    path = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", "--outputs", "graph") == 0
    answer = ask(load(tmp_path / "out"), find("changes"), {"since": "2026-01-05"})
    assert (("new reader", "D.S.NEW", None, "ANA") in [row[:4] for row in answer.rows]) == is_told
    assert ("who may not be new: ANA had read D.S.NEW (Table 2) before" in "\n".join(answer.notes)) == is_told
