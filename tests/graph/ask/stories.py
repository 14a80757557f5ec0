"""Histories of a few queries each, as accounts of one export, which is made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import Store

from exporter.graph.ask.store import load
from tests import exports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Json = dict[str, Any]


def told(stories: Mapping[str, Sequence[Json]], folder: Path) -> Store:
    """The graph of all stories. Query ``qN`` starts at minute N. A row with ``again`` is another row of the query
    before it.
    """
    rows = exports.ndjson(_rows(stories), folder / "rows.ndjson")
    assert exports.export([rows], folder / "out", "--outputs", "graph") == 0
    assert exports.report(folder / "out")["violations"] == {}
    return load(folder / "out")


def _rows(stories: Mapping[str, Sequence[Json]]) -> list[Json]:
    found = []
    for name, story in stories.items():
        number = 0
        for row in story:
            number += 0 if row.get("again") else 1
            said = {key: value for key, value in row.items() if key != "again"}
            own = {"query_id": f"q{number}", "query_start_time": f"2026-01-01 00:{number:02}:00.000 +0000"}
            found.append({"user_name": "ETL", **said, **own, "organization_name": "STORY", "account_name": name})
    return found


def of(story: str, whole: Store) -> Store:
    """The graph of one account, whose name may be spelled in capitals and without hyphens."""
    capitals = story.upper()
    bases = {f"snowflake://STORY-{one}/" for one in (story, capitals, capitals.replace("-", "_"))}
    own = Store()
    own.extend(quad for quad in whole if quad.subject.value.startswith(tuple(bases)))
    assert len(own)
    return own
