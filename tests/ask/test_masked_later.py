"""A mask that was set on a column under another name: reads and copies under its former and later names count, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, changed, copied, row, tags

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
MASK: Final = {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 40}, "subOperationType": "ADD"}}}


def read(number: int, thing: Json, column: str) -> Json:
    shown = {**thing, "columns": [{"columnName": column}]}
    return row(number, user_name=f"USER{number}", direct_objects_accessed=[shown], base_objects_accessed=[shown])


def of_column(number: int, column: str, properties: Json) -> Json:
    return changed(number, A, {"columns": {column: properties}})


RENAMED: Final = [
    read(1, A, "C"),
    copied(2, A, B),
    of_column(3, "C", {"objectName": {"value": "E"}}),
    of_column(4, "C", {"subOperationType": "ADD", "objectId": {"value": 7}}),
    read(5, A, "C"),  # another column of that name, which has no mask
]
STORIES: Final = {
    "set on the column": [of_column(6, "E", MASK), read(8, B, "C"), read(9, A, "C")],
    "set on a tag": [
        of_column(6, "E", tags()),
        changed(7, {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII"}, MASK),
        read(8, B, "C"),
        read(9, A, "C"),
    ],
}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("story", STORIES)
def test_what_was_done_under_the_former_name_counts(story: str, reads: str, tmp_path: Path) -> None:
    given = exports.ndjson(RENAMED + STORIES[story], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph", "--reads", reads) == 0
    store = load(tmp_path / "out")
    found = ask(store, find("unmasked-reads"), {}).rows
    assert {(cells[0], *cells[3:]) for cells in found} == {
        ("USER1", "D.S.A", "C", "BEFORE"),
        ("ETL", "D.S.A", "C", "BEFORE"),
    }
    copies = ask(store, find("unmasked-copies"), {}).rows
    assert [tuple(cells) for cells in copies] == [("D.S.A", "E", "D.S.MASK", "D.S.B", "C")]


UNMASK: Final = {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 40}, "subOperationType": "DROP"}}}
ENFORCED: Final = {
    "policies_referenced": [
        {
            **A,
            "columns": [
                {
                    "columnName": "C",
                    "policies": [{"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}],
                }
            ],
        }
    ]
}
MASKED_BEFORE: Final = {
    "set and unset": [of_column(2, "C", MASK), of_column(3, "C", UNMASK)],
    "enforced": [{**read(2, A, "C"), **ENFORCED}],
    "set after the rename": [],
}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("story", MASKED_BEFORE)
def test_reads_under_a_later_name_are_after_the_mask(story: str, reads: str, tmp_path: Path) -> None:
    rows = [
        read(1, A, "C"),
        *MASKED_BEFORE[story],
        of_column(4, "C", {"objectName": {"value": "D"}}),
        of_column(5, "D", {"objectName": {"value": "E"}}),
        read(6, A, "E"),
        of_column(7, "C", {"subOperationType": "ADD", "objectId": {"value": 7}}),  # another column of that name
        *([] if MASKED_BEFORE[story] else [of_column(8, "C", MASK)]),
        read(9, A, "F"),
    ]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph", "--reads", reads) == 0
    store = load(tmp_path / "out")
    found = {(cells[0], *cells[3:]) for cells in ask(store, find("unmasked-reads"), {}).rows}
    is_before = bool(MASKED_BEFORE[story])
    # No row ends what was only enforced: it goes on under the later name.
    after = {("USER6", "D.S.A", "E", "WHILE" if story == "enforced" else "AFTER")} if is_before else set()
    assert found == {("USER1", "D.S.A", "C", "BEFORE"), *after}
    none = ask(store, find("unmasked-reads"), {"object_name": "D.S.A", "column_name": "E", "since": "2026-02-01"})
    assert not none.rows
    assert not any("does not apply" in note for note in none.notes)


def of_element(number: int, operation: str, domain: str, element_id: int, name: str) -> Json:
    element = {"objectDomain": domain, "objectId": element_id, "objectName": name}
    return changed(number, element, {}, operation)


GONE: Final = {
    "the policy": ("Masking policy", 40, "D.S.MASK"),
    "the tag": ("Tag", 9, "D.S.PII"),
}
"""What is dropped and brought back: kind, id and name."""


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("is_away_at_the_end", [True, False])
def test_a_source_that_is_gone_is_masked_as_it_was_at_its_end(
    gone: str,
    is_away_at_the_end: bool,  # noqa: FBT001 - a parametrised case
    reads: str,
    tmp_path: Path,
) -> None:
    """What happens to the policy or the tag after the DROP of the table makes no difference to it."""
    drop, drop_table = of_element(5, "DROP", *GONE[gone]), changed(6, A, {}, "DROP")
    if not is_away_at_the_end:
        drop_table = changed(4, A, {}, "DROP")
    rows = [
        of_column(1, "C", tags()),
        changed(2, {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII"}, MASK),
        copied(3, A, B),
        drop,
        drop_table,
        read(7, B, "C"),
        of_element(8, "UNDROP", *GONE[gone]),
        read(9, B, "C"),
    ]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph", "--reads", reads) == 0
    copies = ask(load(tmp_path / "out"), find("unmasked-copies"), {}).rows
    expected = [] if is_away_at_the_end else [("D.S.A", "C", "D.S.MASK", "D.S.B", "C")]
    assert [tuple(cells) for cells in copies] == expected
