"""One export of many random histories, each a separate account, and the graph of each; made once in a run."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode, Quad, RdfFormat, Store, parse

from tests.ask import dense_histories, share_histories
from tests.exports import export, ndjson
from tests.histories import random_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.histories import Json

_SEEDS: Final = int(os.environ.get("EXPORTER_TEST_SEEDS", "40"))
"""More of them: ``EXPORTER_TEST_SEEDS=500 bin/test tests/ask/test_questions_random.py``."""
DENSE: Final = (*range(_SEEDS), 1155, 451)
HARD: Final = (*range(100, 100 + _SEEDS // 4), 111, 112, 6008, 8072)
"""Seeds; the last ones are of histories that told of a fault, found among two thousand."""
TOLD_OF_A_FAULT: Final = ("dense-1155", "dense-451", "hard-6008", "hard-8072")
TOLD_OF_A_PLANTED_FAULT: Final = ("dense-30", "hard-111", "hard-112")
"""Histories that alone told of a line taken out of a question."""
SHARED: Final = range(15)
DELETING: Final = range(9000, 9000 + _SEEDS // 10)
NAMES: Final = tuple(
    f"{kind}-{seed}"
    for kind, seeds in (("dense", DENSE), ("hard", HARD), ("shared", SHARED), ("deleting", DELETING))
    for seed in seeds
)
"""Of all cases; to draw their histories takes a moment, which those who run other tests do not wait for."""
_HALF: Final = _SEEDS // 2
_FIRST: Final = {
    *(f"dense-{seed}" for seed in range(_HALF)),
    *(f"hard-{seed}" for seed in range(100, 100 + _HALF // 4)),
    *(f"shared-{seed}" for seed in SHARED[:6]),
    *(f"deleting-{seed}" for seed in DELETING[: _HALF // 10]),
    *TOLD_OF_A_FAULT,
    *TOLD_OF_A_PLANTED_FAULT,
}
ALONE: Final = tuple(name for name in NAMES if name in _FIRST)
"""Cases whose graphs are asked alone: half of all. They tell of each of 124 changed lines of questions that any case
tells of.
"""
_IN_A_GROUP: Final = 8
GROUPS: Final = tuple(NAMES[at :: len(NAMES) // _IN_A_GROUP] for at in range(len(NAMES) // _IN_A_GROUP))
"""Cases of all kinds, whose graphs are asked as one of several accounts."""
_ACCOUNT: Final = "DRAWN"


@dataclass(frozen=True)
class Case:
    """A history: its rows as they were delivered, and its lines of QUERY_HISTORY, where that was given."""

    name: str
    rows: list[Json]
    lines: list[Json] = field(default_factory=list)

    @property
    def ends(self) -> dict[str, str]:
        return {one["query_id"]: one["end_time"] for one in self.lines}

    @property
    def truncated(self) -> set[str]:
        return {one["query_id"] for one in self.lines if one.get("query_type") == "TRUNCATE_TABLE"}

    @property
    def deleted(self) -> set[str]:
        return {one["query_id"] for one in self.lines if one.get("query_type") == "DELETE"}

    @property
    def base(self) -> str:
        return f"snowflake://{_ACCOUNT}-{self.name}/"


@cache
def cases() -> tuple[Case, ...]:
    """Dense histories, every other one with the ends of its queries; histories of hard rows; some with shares and views
    that are replaced, and some with many DELETEs.
    """
    return (
        *map(_dense, DENSE),
        *map(_hard, HARD),
        *map(_shared, SHARED),
        *map(_deleting, DELETING),
    )


@cache
def named() -> dict[str, Case]:
    """The cases by their names."""
    return {case.name: case for case in cases()}


def _dense(seed: int) -> Case:
    rows, history = dense_histories.history(seed, 20, dense_histories.ENDING)
    return Case(f"dense-{seed}", _owned(rows, f"dense-{seed}"), history if seed % 2 else [])


def _deleting(seed: int) -> Case:
    rows, history = dense_histories.history(seed, 20, (*dense_histories.ENDING, *(dense_histories.delete,) * 8))
    return Case(f"deleting-{seed}", _owned(rows, f"deleting-{seed}"), history)


def _shared(seed: int) -> Case:
    rows, history = share_histories.history(seed, 30)
    return Case(f"shared-{seed}", _owned(rows, f"shared-{seed}"), history if seed % 2 else [])


def _hard(seed: int) -> Case:
    return Case(f"hard-{seed}", _owned(random_history(seed, 25), f"hard-{seed}"))


def _owned(rows: list[Json], name: str) -> list[Json]:
    return [{**row, "organization_name": _ACCOUNT, "account_name": name} for row in rows]


@cache
def exported() -> Path:
    """What the export of all cases leaves; the same folder for all tests of a run, so only to be read."""
    folder = Path(tempfile.mkdtemp(prefix="exporter-drawn-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rows = ndjson([row for case in cases() for row in case.rows], folder / "rows.ndjson")
    history = ndjson([line for case in cases() for line in case.lines], folder / "history.ndjson")
    given = ("--query-history", str(history), "--outputs", "graph")
    assert export([rows], folder / "out", *given) == 0
    report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["quarantined"] == 0
    return folder / "out"


@cache
def _quads() -> dict[str, list[Quad]]:
    """By account; those of places, which belong to none, under the empty name."""
    found: dict[str, list[Quad]] = {}
    for file in sorted((exported() / "graph").glob("*.ttl")):
        for quad in parse(path=file, format=RdfFormat.TURTLE):
            found.setdefault(_base(quad.subject), []).append(quad)
    return found


def _base(term: object) -> str:
    iri = term.value if isinstance(term, NamedNode) else ""
    return iri[: iri.index("/", len("snowflake://")) + 1] if iri.startswith("snowflake://") else ""


@cache
def store(case_name: str) -> Store:
    """The graph of one case: its own things, and the places that none of the others made."""
    case = named()[case_name]
    found = Store()
    found.bulk_extend([*_quads().get(case.base, []), *_places(case.base)])
    return found


@cache
def store_of(group: tuple[str, ...]) -> Store:
    """The graph of several cases."""
    return together(map(store, group))


def together(stores: Iterable[Store]) -> Store:
    """The graphs of several accounts as one."""
    found = Store()
    for one in stores:
        found.bulk_extend(one)
    return found


def _places(base: str) -> Iterator[Quad]:
    foreign = {quad.subject for quad in _quads().get("", []) if _base(quad.object) not in ("", base)}
    return (quad for quad in _quads().get("", []) if quad.subject not in foreign)
