"""Objects of which rows give the id alone are in answers by their ids, in the place of the name that no row has.

The documents give every object of an access a name and an id; rows of objects that are not named, as of base objects,
may have the id alone. Query ``qN`` starts at minute N.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.serve import server
from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, asked, at, changed
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
TAGS: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}


def bare(number: int, domain: str = "Table") -> Json:
    return {"objectDomain": domain, "objectId": number, "columns": [{"columnName": "C"}]}


def part(number: int) -> Json:
    return {"objectDomain": "Table", "objectId": number, "columnName": "C"}


def read(number: int, **more: Json | list[Json]) -> Json:
    return {"direct_objects_accessed": [bare(number)], "base_objects_accessed": [bare(number)], **more}


def copied(source: int, target: int) -> Json:
    column = {"columnName": "C", "directSources": [part(source)], "baseSources": [part(source)]}
    return read(source, objects_modified=[{**bare(target), "columns": [column]}])


GRANT: Final[Json] = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_ID": 51}
JOINED: Final[Json] = {**bare(51), "joinObjects": [{"joinType": "INNER", "node": bare(52)}]}
ROWS: Final[list[Json]] = [
    changed(bare(51), columns={"C": {**SET_MASK["C"], "tags": TAGS}}),
    copied(51, 52),
    copied(52, 53),
    read(51, policies_referenced=[{**bare(51), "columns": [{"columnName": "C", "policies": [MASK]}]}],
         agents_info=[{"agentType": "CORTEX_AGENT", "agentId": 5, "agentName": "D.S.BOT"}]),
    read(52, user_name="BEN"),
    {"direct_objects_accessed": [JOINED], "base_objects_accessed": [bare(51), bare(52)]},
    changed({"objectDomain": "Share", "objectId": 90}, grant={"value": GRANT}),
    changed(bare(53), "DROP"),
]  # fmt: skip
CASES: Final[list[tuple[str, Json, str, set[str]]]] = [
    ("agent-reads", {}, "object_name", {"51"}),
    ("changes", {"since": at(0)}, "object_name", {"51", "52", "53"}),
    ("column-copies", {"object_id": "51", "column_name": "C"}, "target_object_name", {"52", "53"}),
    ("column-lineage", {"object_id": "52"}, "source_object_name", {"51"}),
    ("column-lineage", {"object_id": "52"}, "target_object_name", {"52"}),
    ("downstream-users", {"object_id": "51"}, "object_name", {"51", "52"}),
    ("end-up", {"object_id": "51"}, "target_name", {"52", "53", "90"}),
    ("exposure", {}, "object_name", {"51"}),
    ("exposure", {}, "grantee", {"90"}),
    ("joins", {}, "left_object", {"51"}),
    ("joins", {}, "right_object", {"52"}),
    ("lineage-as-of", {"object_id": "53", "at": at(4)}, "source_object_name", {"51", "52"}),
    ("policy-access", {}, "object_name", {"51"}),
    ("policy-coverage", {}, "object_name", {"51"}),
    ("root-cause", {"object_id": "53", "column_name": "C"}, "source_object_name", {"51", "52"}),
    ("sensitive-data-movement", {"object_id": "51", "domain": "Table"}, "path", {"51-->52", "51-->52-->53"}),
    ("tag-history", {"object_id": "51", "column_name": "C"}, "table_name", {"51"}),
    ("tag-reach", {"at": at(4)}, "source_object_name", {"51"}),
    ("tag-reach", {"at": at(4)}, "target_object_name", {"52", "53"}),
    ("unmasked-copies", {}, "source_object_name", {"51"}),
    ("unmasked-copies", {}, "target_object_name", {"52"}),
    ("unmasked-reads", {}, "object_name", {"51"}),
    ("unused-objects", {"since": "2026-02-01"}, "object_name", {"51", "52"}),
    ("user-history", {"user_name": "BEN"}, "direct_objects", {"52"}),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told({"bare": ROWS}, tmp_path_factory.mktemp("bare"))


@pytest.mark.parametrize(("question", "given", "column", "expected"), CASES)
def test_an_object_without_a_name_is_shown_by_its_id(
    question: str, given: Json, column: str, expected: set[str], graph: Store
) -> None:
    found = {row[column] for row in asked(question, graph, **given).dicts()}
    assert found == expected


def test_pages_of_queries_show_it_too(tmp_path: Path) -> None:
    rows, lines = stories.days("bare", ROWS)
    with sited(stories.exported(stories.flat(rows), stories.flat(lines), tmp_path / "out")) as site:
        client = server.make(site, "127.0.0.1").test_client()
        for number, cells in ((1, {"51"}), (2, {"51", "52"}), (4, {"51"}), (6, {"51", "52"})):
            links = re.findall(r">(\d+)<wbr></a>", client.get(f"/query?id=q{number}").text)
            assert set(links) == cells, number
