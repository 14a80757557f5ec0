"""A mask that queries enforced and no row sets is told on pages and by ``policy-coverage`` as long as it holds, by the
rule of ``unmasked-reads`` (docs/questions.md): until a row ends it, and under the new name of a renamed column.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import serve
from exporter.ask.lookups import Lookups
from exporter.ask.notes.enforced_alone import ENFORCED
from exporter.ask.notes.older_masks import HELD_ON
from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_masked_before_the_record import POLICY, TAG, of_mask, of_tag
from tests.ask.test_masks_of_renamed_columns import MASK_OF_E, T, enforced, of, on, to
from tests.ask.test_names import asked, at, changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
PAGE: Final = str(Path(serve.__file__).parent / "page_queries" / "page-enforced.rq")
TAGGED: Final = on("E", **of_tag("ADD"))
IN_G: Final = {"policyKind": "MASKING_POLICY", "policyName": "D.G.MASK", "policyId": 901}
BY_G: Final = {**enforced("E"), "policies_referenced": [{**T, "columns": [{"columnName": "E", "policies": [IN_G]}]}]}
SCHEMA: Final = thing("", 70, "Schema", ()) | {"objectName": "D.G"}
ROW_FILTER: Final = {
    **read(of("E"), "EVE"),
    "policies_referenced": [
        {**T, "policies": [{"policyKind": "ROW_ACCESS_POLICY", "policyName": "D.S.EU", "policyId": 902}]}
    ],
}
UNSET_FILTER: Final = changed(T, rowAccessPolicies={"D.S.EU": {"objectId": {"value": 902}, "subOperationType": "DROP"}})
SET_FILTER: Final = changed(T, rowAccessPolicies={"D.S.EU": {"objectId": {"value": 902}, "subOperationType": "ADD"}})
SET_LATER: Final = "first on 2026-01-01, set by a row only on 2026-01-01"
HELD: Final = "last on 2026-01-01"
ENDED: Final = f"{HELD}, held until 2026-01-01"
ON_PAGES: Final[dict[str, tuple[list[Json], str]]] = {
    "holds": ([enforced("E")], f"D.S.MASK on E, {HELD}."),
    "unset": ([enforced("E"), on("E", **of_mask("DROP"))], f"D.S.MASK on E, {ENDED}."),
    "policy-dropped": ([enforced("E"), changed(POLICY, "DROP")], f"D.S.MASK on E, {ENDED}."),
    "policy-back": ([enforced("E"), changed(POLICY, "DROP"), changed(POLICY, "UNDROP")], f"D.S.MASK on E, {HELD}."),
    "policy-replaced": ([enforced("E"), changed(POLICY, "REPLACE")], f"D.S.MASK on E, {ENDED}."),
    "schema-dropped": ([BY_G, changed(SCHEMA, "DROP")], f"D.G.MASK on E, {ENDED}."),
    "column-dropped": (
        [enforced("E"), on("E", subOperationType="DROP"), on("E", subOperationType="ADD")], f"D.S.MASK on E, {ENDED}.",
    ),
    "made-anew": ([enforced("E"), changed(T, "REPLACE")], f"D.S.MASK on E, {ENDED}."),
    "enforced-again": ([enforced("E"), on("E", **of_mask("DROP")), enforced("E")], f"D.S.MASK on E, {HELD}."),
    "renamed": ([enforced("E"), to(E="F")], f"D.S.MASK on F (E then), {HELD}."),
    "renamed-and-unset": ([enforced("E"), to(E="F"), on("F", **of_mask("DROP"))], f"D.S.MASK on F (E then), {ENDED}."),
    "another-with-the-name": (
        [enforced("E"), to(E="F"), on("E", subOperationType="ADD"), enforced("F")], f"D.S.MASK on F, {HELD}.",
    ),
    "row-access": ([ROW_FILTER], f"D.S.EU, {HELD}."),
    "row-access-unset": ([ROW_FILTER, UNSET_FILTER], f"D.S.EU, {ENDED}."),
    "set": ([on("E", **of_mask("ADD")), enforced("E")], ""),
    "set-later": ([enforced("E"), on("E", **of_mask("ADD")), enforced("E")], f"D.S.MASK on E, {SET_LATER}."),
    "set-later-and-dropped": (
        [enforced("E"), on("E", **of_mask("ADD")), changed(POLICY, "DROP")], f"D.S.MASK on E, {SET_LATER}.",
    ),
    "unset-and-set-later": (
        [enforced("E"), on("E", **of_mask("DROP")), on("E", **of_mask("ADD"))],
        "D.S.MASK on E, first on 2026-01-01, held until 2026-01-01, set by a row only on 2026-01-01.",
    ),
    "row-access-set-later": ([ROW_FILTER, SET_FILTER], f"D.S.EU, {SET_LATER}."),
}  # fmt: skip
"""What rows say, and what the page of the table says after the beginning of the note."""


@pytest.fixture(scope="module", params=["full", "daily"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {f"page-{name}": rows for name, (rows, _) in ON_PAGES.items()}
    told |= {name: [TAGGED, enforced("E"), *rows] for name, (rows, _) in MASK_OF_E.items()}
    return stories.told(told, tmp_path_factory.mktemp("ended"), "--reads", request.param)


def of_page(graph: Store, **given: str) -> str:
    table = next(Lookups(graph).with_text("ah:objectId", "1"))
    notes = ask(graph, find(PAGE), {"object": [table], **{name: [value] for name, value in given.items()}}).notes
    return next((note.removeprefix(ENFORCED) for note in notes if note.startswith(ENFORCED)), "")


@pytest.mark.parametrize("name", ON_PAGES)
def test_a_page_says_until_when_a_mask_held_that_no_row_sets(name: str, whole: Store) -> None:
    assert of_page(stories.of(f"page-{name}", whole)) == ON_PAGES[name][1]


@pytest.mark.parametrize("name", [name for name in MASK_OF_E if "copied" not in name])
def test_pages_and_coverage_have_what_unmasked_reads_counts_as_masked(name: str, whole: Store) -> None:
    graph = stories.of(name, whole)
    last = {row[4]: row[5] for row in asked("unmasked-reads", graph).rows if row[5] in {"WHILE", "AFTER"}}
    assert last
    for column, word in last.items():
        told = of_page(graph, column_name=column or "")
        assert ("held until" in told) == (word == "AFTER" and told != ""), (column, told)
        assert told or word == "AFTER"
        tagged = {row[1] for row in asked("policy-coverage", graph).rows}
        notes = [
            note for note in asked("policy-coverage", graph).notes if note.startswith("Enforced, but set by no row")
        ]
        assert any(f"D.S.T.{column}." in note for note in notes) == (word == "WHILE" and column in tagged), column


def test_coverage_of_an_earlier_time_has_the_mask_that_ended_later(whole: Store) -> None:
    graph = stories.of("unset-later", whole)
    for minute, is_there in ((3.5, True), (4.5, False)):
        notes = asked("policy-coverage", graph, at=at(minute)).notes
        assert any(note.startswith("Enforced, but set by no row") for note in notes) == is_there


def test_coverage_of_an_earlier_time_has_the_mask_that_a_row_sets_later(tmp_path: Path) -> None:
    rows = [TAGGED, enforced("E"), on("E", **of_mask("DROP")), on("E", **of_mask("ADD"))]
    graph = stories.told({"one": rows}, tmp_path)
    for minute, is_told in ((2.5, True), (3.5, False), (4.5, False)):
        notes = asked("policy-coverage", graph, at=at(minute)).notes
        assert any(note.startswith("Enforced, but set by no row") for note in notes) == is_told, minute


ON_TAG, OFF_TAG = changed(TAG, **of_mask("ADD")), changed(TAG, **of_mask("DROP"))
GAPS: Final[dict[str, tuple[list[Json], str]]] = {
    "unset-from-a-tag": (
        [enforced("E"), ON_TAG, OFF_TAG, read(of("E")), enforced("E")], f"D.S.MASK on D.S.T.E from {at(3)} to {at(5)}",
    ),
    "tag-unset": (
        [ON_TAG, enforced("E"), on("E", **of_tag("DROP")), read(of("E")), enforced("E")],
        f"D.S.MASK on D.S.T.E from {at(3)} to {at(5)}",
    ),
    # it came by the tag, as far as rows tell, or they say when it was set again
    "not-enforced-again": ([enforced("E"), ON_TAG, OFF_TAG, read(of("E"))], ""),
    "set-again": ([enforced("E"), ON_TAG, OFF_TAG, read(of("E")), on("E", **of_mask("ADD")), enforced("E")], ""),
    "set-on-the-tag-again": (
        [TAGGED, ON_TAG, enforced("E"), OFF_TAG, read(of("E")), ON_TAG, enforced("E")], "",
    ),
    "unset-from-the-column": ([enforced("E"), on("E", **of_mask("DROP")), read(of("E")), enforced("E")], ""),
}  # fmt: skip


def test_a_mask_that_was_enforced_again_may_not_have_ended_with_a_tag(tmp_path: Path) -> None:
    whole = stories.told({name: rows for name, (rows, _) in GAPS.items()}, tmp_path)
    for story, (_, said) in GAPS.items():
        graph = stories.of(story, whole)
        for question, given, is_about in (
            ("unmasked-reads", {}, True),
            ("unmasked-reads", {"object_name": "D.S.T"}, True),
            ("unmasked-copies", {}, True),
            ("unmasked-copies", {"until": at(2.5)}, False),
            ("unmasked-copies", {"since": at(5.5)}, False),
            ("policy-coverage", {"at": at(4.5)}, True),
            ("policy-coverage", {"at": at(5.5)}, False),
            ("policy-coverage", {}, False),
        ):
            notes = [note for note in asked(question, graph, **given).notes if note.startswith(HELD_ON)]
            assert [note.removeprefix(f"{HELD_ON}: ").split(". The answer")[0] for note in notes] == (
                [said] if said and is_about else []
            ), (story, question, given)


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_coverage_of_a_time_before_a_mask_was_set_has_none(reads: str, tmp_path: Path) -> None:
    """The first query that enforced it came after the row that set it, so it is not older than the record."""
    rows = [TAGGED, on("E", **of_mask("ADD")), enforced("E")]
    graph = stories.told({"one": rows}, tmp_path, "--reads", reads)
    for minute in (1.5, 2.5, 3.5):
        notes = asked("policy-coverage", graph, at=at(minute)).notes
        assert not [note for note in notes if note.startswith("Enforced, but set by no row")], minute
