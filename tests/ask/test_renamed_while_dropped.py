"""A column is renamed while its tag or policy is dropped: docs/graph.md, "Names". UNDROP restores them as if they had
not been dropped, and they go on under the new name.

Query ``qN`` of a story runs on day N; each story is one export, and updates must give the same graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import exported_once
from tests.ask.test_ends import SET_OWN_MASK, SET_TAG, TAG
from tests.ask.test_names import changed, copied, read, thing
from tests.ask.updated_stories import assert_updates_give_the_same

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
Period = tuple[str, int, int | None]
"""The name of a column, and the days since when and until when a tag or policy is set on it."""
A, B, E_OF_A = thing("A", 3), thing("B", 4), thing("A", 3, columns=("E",))
POLICY: Final[Json] = {"objectDomain": "MASKING_POLICY", "objectId": 902, "objectName": "D.S.OWN"}
OTHER: Final[Json] = {**TAG, "objectId": 81}
UNSET: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "DROP"}}


def on(column: str, **properties: Json) -> Json:
    return changed(A, columns={column: properties})


def to(new: str, former: str = "C") -> Json:
    return on(former, objectName={"value": new})


STORIES: Final[dict[str, list[Json]]] = {
    "of-a-tag": [on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(TAG, "UNDROP"), read(E_OF_A)],
    "of-a-policy": [on("C", **SET_OWN_MASK), changed(POLICY, "DROP"), to("E"), changed(POLICY, "UNDROP"), read(E_OF_A)],
    "not-restored": [on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), read(E_OF_A)],
    "twice": [on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), to("F", "E"), changed(TAG, "UNDROP"), read(B)],
    "before-and-after": [
        on("C", tags=SET_TAG), to("E"), changed(TAG, "DROP"), to("F", "E"), changed(TAG, "UNDROP"), to("G", "F"),
        read(B),
    ],
    "dropped-again": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(TAG, "UNDROP"), changed(TAG, "DROP"), read(B),
    ],
    "dropped-again-and-renamed": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(TAG, "UNDROP"), changed(TAG, "DROP"),
        to("F", "E"), read(B),
    ],
    "dropped-again-renamed-and-restored": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(TAG, "UNDROP"), changed(TAG, "DROP"),
        to("F", "E"), changed(TAG, "UNDROP"), read(B),
    ],
    "unset-later": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(TAG, "UNDROP"), on("E", tags=UNSET), read(B),
    ],
    "column-dropped-before-it-is-restored": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), on("E", subOperationType="DROP"), changed(TAG, "UNDROP"),
        read(B),
    ],
    "table-dropped-and-restored": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), changed(A, "DROP"), changed(TAG, "UNDROP"),
        changed(A, "UNDROP"), read(B),
    ],
    "two-columns-change-names": [
        on("C", tags=SET_TAG), changed(TAG, "DROP"),
        changed(A, columns={"C": {"objectName": {"value": "E"}}, "E": {"objectName": {"value": "C"}}}),
        changed(TAG, "UNDROP"), read(B),
    ],
    # The documents do not say it of a REPLACE of a tag: graph.md does, as of a table.
    "another-took-its-name": [on("C", tags=SET_TAG), changed(OTHER, "REPLACE"), to("E"), read(B)],
    "another-took-its-name-and-it-came-back": [
        on("C", tags=SET_TAG), changed(OTHER, "REPLACE"), to("E"), changed(OTHER, objectName={"value": "D.S.BAD"}),
        changed(TAG, "UNDROP"), read(B),
    ],
    "copied-before": [
        copied(A, B), on("C", **SET_OWN_MASK), changed(POLICY, "DROP"), to("E"), changed(POLICY, "UNDROP"), read(B),
    ],
    "read-before-the-policy-is-restored": [
        on("C", **SET_OWN_MASK), changed(POLICY, "DROP"), to("E"), read(E_OF_A), changed(POLICY, "UNDROP"),
        read(E_OF_A),
    ],
    "read-before-the-tag-is-restored": [
        changed(TAG, **SET_OWN_MASK), on("C", tags=SET_TAG), changed(TAG, "DROP"), to("E"), read(E_OF_A),
        changed(TAG, "UNDROP"), read(E_OF_A),
    ],
    "copy-read-before-the-policy-is-restored": [
        on("C", **SET_OWN_MASK), copied(A, B), changed(POLICY, "DROP"), to("E"), read(B), changed(POLICY, "UNDROP"),
    ],
}  # fmt: skip
PERIODS: Final[dict[str, set[Period]]] = {
    "of-a-tag": {("C", 1, 3), ("E", 3, None)},
    "of-a-policy": {("C", 1, 3), ("E", 3, None)},
    "not-restored": {("C", 1, 2)},
    "twice": {("C", 1, 3), ("E", 3, 4), ("F", 4, None)},
    "before-and-after": {("C", 1, 2), ("E", 2, 4), ("F", 4, 6), ("G", 6, None)},
    "dropped-again": {("C", 1, 3), ("E", 3, 5)},
    "dropped-again-and-renamed": {("C", 1, 3), ("E", 3, 5)},
    "dropped-again-renamed-and-restored": {("C", 1, 3), ("E", 3, 6), ("F", 6, None)},
    "unset-later": {("C", 1, 3), ("E", 3, 5)},
    "column-dropped-before-it-is-restored": {("C", 1, 2)},
    "table-dropped-and-restored": {("C", 1, 3), ("E", 3, None)},
    "two-columns-change-names": {("C", 1, 3), ("E", 3, None)},
    "another-took-its-name": {("C", 1, 2)},
    "another-took-its-name-and-it-came-back": {("C", 1, 3), ("E", 3, None)},
    "copied-before": {("C", 2, 4), ("E", 4, None)},
    "read-before-the-policy-is-restored": {("C", 1, 3), ("E", 3, None)},
    "read-before-the-tag-is-restored": {("C", 2, 4), ("E", 4, None)},
    "copy-read-before-the-policy-is-restored": {("C", 1, 4), ("E", 4, None)},
}
_SETTINGS: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
SELECT ?name ?since ?until WHERE {
  ?setting ah:onColumn/ah:columnName ?name ; ah:element ?element ; ah:validFrom ?since .
  OPTIONAL { ?setting ah:validUntil ?until }
}
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def periods(out: Path) -> set[Period]:
    store = load(out)
    rows = [tuple(None if cell is None else cell.value for cell in row) for row in store.query(_SETTINGS)]
    return {(name, int(since[8:10]), None if until is None else int(until[8:10])) for name, since, until in rows}


@pytest.mark.parametrize("name", STORIES)
def test_what_is_restored_holds_under_the_new_name(name: str, told: Callable[[str], Path]) -> None:
    assert periods(told(name)) == PERIODS[name]


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same(STORIES, tmp_path)


@pytest.mark.parametrize(
    ("story", "question", "answer"),
    [
        ("of-a-tag", "policy-coverage", {("D.S.A", "E", "D.S.PII=high", None)}),
        ("not-restored", "policy-coverage", set()),
        ("copy-read-before-the-policy-is-restored", "unmasked-copies", set()),
        ("copied-before", "unmasked-copies", {("D.S.A", name, "D.S.OWN", "D.S.B", "C") for name in ("C", "E")}),
    ],
)
def test_questions(story: str, question: str, answer: set[tuple[str | None, ...]], told: Callable[[str], Path]) -> None:
    assert set(ask(load(told(story)), find(question), {}).rows) == answer


@pytest.mark.parametrize(
    ("story", "masks"),
    [
        ("read-before-the-policy-is-restored", [("q4", "AFTER"), ("q6", "WHILE")]),
        ("read-before-the-tag-is-restored", [("q5", "AFTER"), ("q7", "WHILE")]),
    ],
)
def test_a_read_before_the_undrop_is_one_after_the_mask(
    story: str, masks: list[tuple[str, str]], told: Callable[[str], Path]
) -> None:
    """docs/questions.md: AFTER, its policy or tag was dropped and not yet brought back."""
    assert [(row[1], row[5]) for row in ask(load(told(story)), find("unmasked-reads"), {}).rows] == masks


def test_a_read_under_the_new_name_is_one_while_the_policy_was_set(told: Callable[[str], Path]) -> None:
    """docs/questions.md: WHILE, one was set, but not enforced for the query."""
    rows = ask(load(told("of-a-policy")), find("unmasked-reads"), {}).rows
    assert [(row[1], row[4], row[5]) for row in rows] == [("q5", "E", "WHILE")]
