"""Histories of a few queries each: as accounts of one export, which is made once, or each in an export of its own."""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import Quad, Store

from exporter.graph.store import load
from tests import exports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pytest

Json = dict[str, Any]
SCHEME: Final = "snowflake://"


def told(stories: Mapping[str, Sequence[Json]], folder: Path, *options: str) -> Store:
    """The graph of all stories. Query ``qN`` starts at minute N. A row with ``again`` is another row of the query
    before it.
    """
    rows = exports.ndjson(_rows(stories), folder / "rows.ndjson")
    assert exports.export([rows], folder / "out", "--outputs", "graph", *options) == 0
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
    own, by_base = Store(), _by_base(whole)
    for one in {story, capitals, capitals.replace("-", "_")}:
        own.extend(by_base[f"{SCHEME}STORY-{one}/"])
    assert len(own)
    return own


@lru_cache(maxsize=1)  # the tests of a module ask the same graph
def _by_base(whole: Store) -> defaultdict[str, list[Quad]]:
    by_base = defaultdict[str, list[Quad]](list)
    for quad in whole:
        value = quad.subject.value
        by_base[value[: value.find("/", len(SCHEME)) + 1]].append(quad)
    return by_base


# --- a day for each query ---------------------------------------------------------------------------------------------


def days(name: str, story: Sequence[Json]) -> tuple[list[list[Json]], list[list[Json]]]:
    """Rows and lines of QUERY_HISTORY, day by day: query ``qN`` runs on day N. ``line``: its line."""
    rows: list[list[Json]] = []
    lines: list[list[Json]] = []
    for row in story:
        if not row.get("again"):
            rows.append([])
            lines.append([])
        ident = f"q{len(rows)}"
        said = {key: value for key, value in row.items() if key not in {"again", "line"}}
        own = {"query_id": ident, "query_start_time": f"2026-01-{len(rows):02}T06:00:00Z"}
        rows[-1].append({"user_name": "ETL", **said, **own, "organization_name": "STORY", "account_name": name})
        if "line" in row:
            lines[-1].append({"query_id": ident, **row["line"]})
    return rows, lines


def days_of_all(stories: Mapping[str, Sequence[Json]]) -> list[tuple[list[Json], list[Json]]]:
    """Rows and lines of all stories, day by day (:func:`days`): one export of many accounts, with ids of their own."""
    of_each = {name: days(name, story) for name, story in stories.items()}

    def on(day: int, which: int) -> list[Json]:
        return [
            {**one, "query_id": f"{name} {one['query_id']}"}
            for name, both in of_each.items()
            for one in flat(both[which][day : day + 1])
        ]

    return [(on(day, 0), on(day, 1)) for day in range(max(len(rows) for rows, _ in of_each.values()))]


def flat(each: list[list[Json]]) -> list[Json]:
    return list(chain.from_iterable(each))


def exported(rows: list[Json], lines: list[Json], out: Path, *options: str) -> Path:
    """The export, which the shapes do not refuse. ``lines``: of QUERY_HISTORY."""
    given = [exports.ndjson(rows, out.with_suffix(".rows.ndjson"))]
    history = exports.ndjson(lines, out.with_suffix(".lines.ndjson"))
    assert exports.export(given, out, "--query-history", str(history), "--force", *options) == 0
    assert exports.report(out)["violations"] == {}
    return out


def exported_once(stories: Mapping[str, Sequence[Json]], factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story by its name, made when it is first asked for."""

    @cache
    def of(name: str) -> Path:
        rows, lines = days(name, stories[name])
        return exported(flat(rows), flat(lines), factory.mktemp(name) / "once")

    return of
