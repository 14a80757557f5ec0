"""What answers say of grants on what was not there: dropped then, and restored later; or made after a grant on all.

Each case is a separate account of one export; query ``qN`` starts at minute N. docs/graph.md, "Names and settings in
time": an UNDROP brings grants back. docs/questions.md: "something was granted on it … and does not hold at that time".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_clones import place
from tests.ask.test_names import asked, at, changed, copied, read, renamed, thing
from tests.ask.test_revokes import granted, opened, share, table

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
T, ANEW, B, OTHER = thing("T", 1), thing("T", 2), thing("B", 3), thing("OTHER", 4)
S: Final = place("D.S", 50)
MADE: Final = [changed(T, "CREATE"), granted(share(), table(1, "D.S.T"))]
DROPPED: Final[dict[str, list[Json]]] = {
    "table": [*MADE, changed(T, "DROP"), changed(T, "UNDROP"), read(OTHER)],
    "schema": [*MADE, changed(S, "DROP"), changed(S, "UNDROP"), read(OTHER)],
    "share": [*MADE, changed(share(), "DROP"), changed(share(), "UNDROP"), read(OTHER)],
    # another table has the name then
    "beside": [*MADE, changed(T, "DROP"), changed(ANEW, "CREATE"), renamed(ANEW, "BAD"), changed(T, "UNDROP")],
}
"""What was granted, or the share, was dropped at minute 3, and restored later."""
ENDED: Final[dict[str, list[Json]]] = {
    "dropped": [*MADE, changed(T, "DROP"), read(OTHER)],
    "replaced": [*MADE, changed(ANEW, "REPLACE"), renamed(ANEW, "BAD"), changed(T, "UNDROP"), read(OTHER)],
}
SCOPE: Final = {"SECURABLE_OBJECT_SCOPE": "D.S", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA"}
ON_ALL: Final = granted(share(), {"SECURABLE_OBJECT_DOMAIN": "TABLE", **SCOPE})
MOVED: Final = {**T, "objectName": "D.ELSEWHERE.T"}
INSIDE: Final[dict[str, tuple[list[Json], bool]]] = {
    "was-there": ([copied(OTHER, T), ON_ALL, read(B)], True),
    "seen-later": ([read(B), ON_ALL, copied(OTHER, T)], True),
    "made-later": ([read(B), ON_ALL, changed(T, "CREATE"), copied(OTHER, T)], False),
    "moved-in-later": ([copied(OTHER, MOVED), ON_ALL, renamed(MOVED, "T"), read(B)], False),
    "moved-in-before": ([copied(OTHER, MOVED), renamed(MOVED, "T"), ON_ALL, read(B)], True),
    "moved-out-later": ([copied(OTHER, T), ON_ALL, changed(T, objectName={"value": "D.ELSEWHERE.T"})], True),
    "moved-out-before": ([copied(OTHER, T), changed(T, objectName={"value": "D.ELSEWHERE.T"}), ON_ALL], False),
    # No row lists what the RENAME of a schema moves: a row that shows the table later may show what was there before.
    "in-a-renamed-schema": ([copied(OTHER, MOVED), changed(place("D.ELSEWHERE", 51), objectName={"value": "D.S"}),
                             ON_ALL, read(T)], True),
    "of-a-later-schema": ([read(B), ON_ALL, changed(S, "DROP"), changed(place("D.S", 52), "CREATE"),
                           changed(T, "CREATE"), copied(OTHER, T)], False),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    inside = {f"inside-{name}": rows for name, (rows, _) in INSIDE.items()}
    return stories.told({**DROPPED, **ENDED, **inside}, tmp_path_factory.mktemp("grants"))


def notes(question: str, story: str, whole: Store, **given: str) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


@pytest.mark.parametrize("story", DROPPED)
def test_a_grant_on_what_is_dropped_at_a_time_is_told(story: str, whole: Store) -> None:
    given = {"object_name": "D.S.T"}
    answer = asked("exposure", stories.of(story, whole), **given, at=at(3.5))
    assert "SELECT" not in {row[2] for row in answer.rows}
    assert (
        f"The answer has grants that hold at {at(3.5)}. Dropped then, or granted to what was, and restored later: "
        f"SELECT on D.S.T to OUT from {at(2)} until {at(3)}. Ask with at for a time when it was there."
    ) in answer.notes
    for minute in (2.5, 6.5):
        there = asked("exposure", stories.of(story, whole), **given, at=at(minute))
        assert "SELECT" in {row[2] for row in there.rows}
        assert "restored later" not in "\n".join(there.notes)


def test_a_grantee_has_its_name_at_that_time_as_what_was_granted_has(tmp_path: Path) -> None:
    """docs/questions.md: the answer is as of ``at``, or of the end of the record; names are those of that time."""
    role = {"objectDomain": "Role", "objectId": 91, "objectName": "READER"}
    rows = [
        granted(share(), table(1, "D.S.T")),
        granted(role, table(1, "D.S.T")),
        opened("accountsToAdd", share(), "ORG.B"),
    ]
    rows += [changed(one, objectName={"value": name}) for one, name in ((share(), "OUT2"), (role, "READER2"))]
    graph = stories.told({"renamed": rows}, tmp_path)
    for time, shared, granted_role in (
        (None, "OUT2", "READER2"),
        (at(4.5), "OUT2", "READER"),
        (at(3.5), "OUT", "READER"),
    ):
        answer = asked("exposure", graph, **({"at": time} if time else {}))
        to = {("D.S.T", shared), ("D.S.T", granted_role), ("D.S.T", "ORG.B"), (shared, "ORG.B")}
        assert {(row[0], row[3]) for row in answer.rows} == to


@pytest.mark.parametrize("story", ENDED)
def test_what_was_not_dropped_and_restored_is_told_otherwise(story: str, whole: Store) -> None:
    told = notes("exposure", story, whole, object_name="D.S.T", at=at(3.5))
    assert "restored later" not in told
    assert ("Earlier ones ended" in told) == (story == "dropped")
    assert ("COPY GRANTS keeps grants then" in told) == (story == "replaced")


@pytest.mark.parametrize("story", INSIDE)
def test_a_grant_on_all_is_told_of_what_may_have_been_there(story: str, whole: Store) -> None:
    lead = "Granted on all that was in a schema or database then: SELECT ON ALL TABLE in D.S."
    _, is_told = INSIDE[story]
    given = {"object_id": "1", "domain": "Table"}
    assert (lead in notes("exposure", f"inside-{story}", whole, **given)) == is_told
    assert (lead in notes("end-up", f"inside-{story}", whole, **given)) == is_told
    unused = notes("unused-objects", f"inside-{story}", whole, since=at(6.5))
    assert ("D.S.T (granted to a share" in unused or "D.ELSEWHERE.T (granted to a share" in unused) == is_told
