"""The examples: what their rows become as events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import golden
from tests.openlineage_new import told_events as told

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("folder", golden.folders(), ids=lambda folder: folder.name)
def test_the_rows_become_these_events(folder: Path) -> None:
    queries = told.queries_of(golden.rows(folder), golden.account(folder))
    made = sorted(told.sent(queries), key=golden._order)
    assert made == golden.expected_events(folder)


@pytest.mark.parametrize("folder", golden.folders(), ids=lambda folder: folder.name)
def test_every_key_of_the_texts_stands_once(folder: Path) -> None:
    """A reader of JSON takes the last of two members of one name without a word."""

    def once(members: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(members)) == len(members)
        return dict(members)

    queries = told.queries_of(golden.rows(folder), golden.account(folder))
    for event in told.World(told.with_history(queries)).events():
        json.loads(event.body, object_pairs_hook=once)
