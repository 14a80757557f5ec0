"""Row access policies, and others that do not mask, of a table that was made anew: the new one has none.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_lost_masks import FIRST, SECOND, SOURCE
from tests.ask.test_names import asked, at, changed, copied, read, swapped, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
_HAD: Final = "Another object got the name of one that had {} policy"


def _policy(name: str, number: int, doing: str = "ADD") -> Json:
    return {name: {"objectId": {"value": number}, "subOperationType": doing}}


ROWS: Final = {"rowAccessPolicies": _policy("G.P.EU", 90)}
SET: Final = changed(FIRST, **ROWS)
MADE: Final = copied(SOURCE, SECOND, "REPLACE")
NEXT: Final = thing("A_NEXT", 2)
_LOST: Final = f"D.S.A (object_id=2 since {at(2)}; G.P.EU: object_id=1)"
_NAMED: Final = {"policyName": "G.P.EU", "policyId": 90, "policyKind": "ROW_ACCESS_POLICY"}


def filtered(source: Json) -> Json:
    """A read for which the policy was enforced."""
    protected = {key: value for key, value in source.items() if key != "columns"}
    return {**read(source), "policies_referenced": [{**protected, "policies": [_NAMED]}]}


STORIES: Final[dict[str, tuple[list[Json], str, str]]] = {
    "replaced": ([SET, MADE, read(SECOND)], "a row access", _LOST),
    "swapped": (
        [SET, copied(SOURCE, NEXT, "CREATE"), *swapped(FIRST, NEXT), changed(thing("A_NEXT", 1), "DROP")],
        "a row access", f"D.S.A (object_id=2 since {at(3)}; G.P.EU: object_id=1)",
    ),
    "enforced-before": ([filtered(FIRST), MADE, read(SECOND)], "a row access", _LOST),
    # The statement reads what it replaces; and nothing has the name for a minute.
    "of-itself": ([SET, copied(FIRST, SECOND, "REPLACE"), read(SECOND)], "a row access", _LOST),
    "dropped": (
        [SET, changed(FIRST, "DROP"), copied(SOURCE, SECOND, "CREATE")],
        "a row access", f"D.S.A (object_id=2 since {at(3)}; G.P.EU: object_id=1)",
    ),
    "set-again": ([SET, MADE, changed(SECOND, **ROWS)], "a row access", ""),
    "another-set": ([SET, MADE, changed(SECOND, rowAccessPolicies=_policy("G.P.US", 91))], "a row access", ""),
    "enforced-since": ([SET, MADE, filtered(SECOND)], "a row access", ""),
    "unset-before": (
        [SET, changed(FIRST, rowAccessPolicies=_policy("G.P.EU", 90, "DROP")), MADE], "a row access", "",
    ),
    "aggregation": (
        [changed(FIRST, aggregationPolicies=_policy("G.P.AGG", 92)), MADE], "an aggregation",
        f"D.S.A (object_id=2 since {at(2)}; G.P.AGG: object_id=1)",
    ),
    "projection": (
        [changed(FIRST, columns={"C": {"projectionPolicies": _policy("G.P.PRO", 93)}}), MADE, read(SECOND)],
        "a projection", f"D.S.A.C (object_id=2 since {at(2)}; G.P.PRO: object_id=1)",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(
        {name: rows for name, (rows, _, _) in STORIES.items()}, tmp_path_factory.mktemp("lost-policies")
    )


@pytest.mark.parametrize(("question", "given"), [("changes", {"since": at(0)}), ("policy-coverage", {})])
@pytest.mark.parametrize("story", STORIES)
def test_a_policy_that_was_lost_with_the_former_object_is_told(
    story: str, question: str, given: dict[str, str], whole: Store
) -> None:
    _, kind, said = STORIES[story]
    notes = [one for one in asked(question, stories.of(story, whole), **given).notes if "one that had" in one]
    assert [note.startswith(_HAD.format(kind)) and note.endswith(f": {said}.") for note in notes] == [True] * bool(said)


def test_it_is_told_only_of_the_time_that_is_asked_for(whole: Store) -> None:
    graph = stories.of("replaced", whole)
    for question, given in {"changes": {"since": at(2.5)}, "policy-coverage": {"at": at(1.5)}}.items():
        assert not any("one that had" in note for note in asked(question, graph, **given).notes), question


@pytest.mark.parametrize("by_clone", [True, False])
def test_what_a_clone_in_its_place_may_have_is_told(tmp_path: Path, *, by_clone: bool) -> None:
    """A CLONE has the policies and tags of its source, which no row sets on it."""
    of = {f"source{part}": {"value": FIRST[f"object{part}"]} for part in ("Domain", "Id", "Name")}
    made = {**copied(FIRST, NEXT), **changed(NEXT, "CREATE", **(of if by_clone else {}))}
    graph = stories.told({"cloned": [SET, made, *swapped(FIRST, NEXT), changed(thing("A_NEXT", 1), "DROP")]}, tmp_path)
    (lost,) = [note for note in asked("changes", graph, since=at(0)).notes if _HAD.format("a row access") in note]
    assert lost.endswith(" Made by CLONE or LIKE, and no row records what came with that: D.S.A.") == by_clone
    (lost,) = [note for note in asked("policy-coverage", graph).notes if _HAD.format("a row access") in note]
    assert "Made by CLONE" not in lost, "it has a note of its own"
