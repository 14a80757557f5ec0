"""Places outside of Snowflake that rows name in several ways: an external stage and the URL of its location, a folder
and files in it. Nothing joins these, and a note says so where the answer would have more.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, C, copied, row
from tests.serve.conftest import pages_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyoxigraph import Store

    from exporter.ask.answers import Answer

Json = dict[str, Any]
OUT: Final[Json] = {"location": "s3://bucket/out/"}
FILE: Final[Json] = {"location": "s3://bucket/out/2026/a.csv"}
STAGE: Final[Json] = {
    "objectDomain": "Stage", "objectId": 6, "objectName": "D.S.ST", "stageKind": "External Named", **OUT,
}  # fmt: skip
CLIENT: Final[Json] = {"location": "file:///tmp/x/"}


def moved(number: int, source: Json, target: Json) -> Json:
    return row(number, direct_objects_accessed=[source], base_objects_accessed=[source], objects_modified=[target])


STORIES: Final[dict[str, list[Json]]] = {
    "stage": [moved(1, A, STAGE), moved(3, OUT, B), copied(4, B, C)],
    "read-before": [moved(1, OUT, B), moved(3, A, STAGE)],
    "folder": [moved(1, A, OUT), moved(3, FILE, B), moved(4, OUT, C)],
    "slash": [moved(1, A, {"location": "s3://bucket/out"}), moved(3, OUT, B)],
    "sibling": [moved(1, A, OUT), moved(2, OUT, C), moved(3, {"location": "s3://bucket/outside/a.csv"}, B)],
    "other-bucket": [moved(1, A, OUT), moved(2, OUT, C), moved(3, {"location": "s3://bucket2/out/"}, B)],
    "client": [moved(1, STAGE, CLIENT), moved(2, {"location": "file:///tmp/x/y/"}, STAGE)],
    "only-read": [moved(1, A, STAGE), row(3, direct_objects_accessed=[OUT], base_objects_accessed=[OUT])],
}
SAME: Final = "Rows name one place outside of Snowflake in several ways"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Store]:
    @cache
    def of(story: str, reads: str) -> Store:
        folder: Path = tmp_path_factory.mktemp(story)
        told = exports.ndjson(STORIES[story], folder / "rows.ndjson")
        assert exports.export([told], folder / "out", "--outputs", "graph", "--reads", reads) == 0
        return load(folder / "out")

    return of


def _note(answer: Answer) -> str:
    return next((note.removeprefix(SAME) for note in answer.notes if note.startswith(SAME)), "")


STAGE_AT: Final = "D.S.ST (at the place of s3://bucket/out/)"
PLACE_OF: Final = "s3://bucket/out/ (at the place of D.S.ST)"
WITHIN: Final = "s3://bucket/out/2026/a.csv (within s3://bucket/out/)"
AROUND: Final = "s3://bucket/out/ (around s3://bucket/out/2026/a.csv)"
LATER: Final = "2026-01-03T12:00:00Z"
BEFORE: Final = "2026-01-02"


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize(
    ("story", "question", "name", "given", "told"),
    [
        ("stage", "end-up", "D.S.A", {}, PLACE_OF),
        ("stage", "end-up", "D.S.ST", {}, PLACE_OF),
        ("stage", "downstream-users", "D.S.A", {}, PLACE_OF),
        ("stage", "sensitive-data-movement", "D.S.A", {}, PLACE_OF),
        ("stage", "who-accessed", "D.S.ST", {}, PLACE_OF),
        ("stage", "writers", "s3://bucket/out/", {}, STAGE_AT),
        ("stage", "lineage-as-of", "D.S.C", {"at": "2026-01-05"}, STAGE_AT),
        ("stage", "lineage-as-of", "D.S.B", {"at": LATER}, STAGE_AT),
        ("folder", "end-up", "s3://bucket/out/", {}, WITHIN),
        ("folder", "end-up", "D.S.A", {}, WITHIN),
        ("folder", "end-up", "s3://bucket/out/2026/a.csv", {}, AROUND),
        ("folder", "downstream-users", "s3://bucket/out/", {}, WITHIN),
        ("folder", "writers", "s3://bucket/out/2026/a.csv", {}, AROUND),
        ("folder", "lineage-as-of", "D.S.B", {"at": LATER}, AROUND),
        ("slash", "end-up", "D.S.A", {}, "s3://bucket/out/ (at the place of s3://bucket/out)"),
        ("only-read", "downstream-users", "D.S.A", {}, PLACE_OF),
        ("only-read", "who-accessed", "D.S.ST", {}, PLACE_OF),
        # nothing that the answer would have
        ("stage", "end-up", "D.S.A", {"until": BEFORE}, ""),
        ("stage", "who-accessed", "D.S.ST", {"until": BEFORE}, ""),
        ("stage", "writers", "D.S.ST", {}, ""),
        ("stage", "end-up", "D.S.B", {}, ""),
        ("stage", "end-up", "s3://bucket/out/", {}, ""),
        ("read-before", "end-up", "D.S.A", {}, ""),
        ("read-before", "lineage-as-of", "D.S.B", {"at": "2026-01-05"}, ""),
        ("only-read", "end-up", "D.S.A", {}, ""),
        ("sibling", "end-up", "s3://bucket/out/", {}, ""),
        ("sibling", "end-up", "D.S.A", {}, ""),
        ("other-bucket", "end-up", "D.S.A", {}, ""),
        ("client", "end-up", "D.S.ST", {}, ""),
    ],
)
def test_what_was_done_by_another_name_of_the_place_is_told(
    story: str,
    question: str,
    name: str,
    given: dict[str, str],
    told: str,
    reads: str,
    graph: Callable[[str, str], Store],
) -> None:
    note = _note(ask(graph(story, reads), find(question), {"object_name": name, **given}))
    told = told and f", and the answer does not have what was done by other names: {told}. Ask for this, too."
    assert note == told


def test_many_files_are_looked_up_by_their_folder(tmp_path: Path) -> None:
    files = [moved(n, {"location": f"s3://bucket/out/{n:02}.csv"}, B) for n in range(2, 20)]
    told = exports.ndjson([moved(1, A, OUT), *files], tmp_path / "rows.ndjson")
    assert exports.export([told], tmp_path / "out", "--outputs", "graph") == 0
    note = _note(ask(load(tmp_path / "out"), find("end-up"), {"object_name": "D.S.A"}))
    assert note.endswith("06.csv (within s3://bucket/out/) and 13 more. Ask for these, too.")


def test_pages_and_pictures_tell_it(tmp_path: Path) -> None:
    with pages_of(STORIES["stage"], tmp_path) as client:
        for path in ("/object?name=D.S.ST", "/object?name=s3://bucket/out/", "/lineage/?name=D.S.A"):
            assert SAME in client.get(path, follow_redirects=True).text, path
        assert SAME not in client.get("/object?name=D.S.B").text
