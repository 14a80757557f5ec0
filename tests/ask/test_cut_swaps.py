"""A SWAP whose row has the id of its partner, and not the name, which Snowflake cut (guide, "Swap a table"): the
partner has the name of the row's own object from then on; which name that one got is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, B = thing("A", 1), thing("B", 2)


def swap(own: Json, other: int, name: str) -> Json:
    given = {"Domain": "Table", "Id": other, "Name": name}
    return changed(own, **{f"swapTarget{part}": {"value": value} for part, value in given.items()})


MADE: Final = [changed(A, "CREATE"), changed(B, "CREATE")]
CUT: Final = swap(A, 2, "TRUNCATED")
STORIES: Final[dict[str, list[Json]]] = {
    "cut": [*MADE, CUT],
    "cut-and-seen": [*MADE, CUT, read(thing("B", 1))],
    "cut-and-back": [*MADE, CUT, read(thing("A", 1))],
    "one-of-two-rows": [*MADE, CUT, {**swap(B, 1, "D.S.A"), "again": True}],
    "whole": [*MADE, swap(A, 2, "D.S.B")],
}
NAMES: Final[dict[str, dict[str, list[tuple[str, bool]]]]] = {
    "cut": {"1": [("D.S.A", False)], "2": [("D.S.B", False), ("D.S.A", True)]},
    "cut-and-seen": {"1": [("D.S.A", False), ("D.S.B", True)], "2": [("D.S.B", False), ("D.S.A", True)]},
    # A later row says that the table has its former name again.
    "cut-and-back": {"1": [("D.S.A", False), ("D.S.A", True)], "2": [("D.S.B", False), ("D.S.A", True)]},
    "one-of-two-rows": {"1": [("D.S.A", False), ("D.S.B", True)], "2": [("D.S.B", False), ("D.S.A", True)]},
    "whole": {"1": [("D.S.A", False), ("D.S.B", True)], "2": [("D.S.B", False), ("D.S.A", True)]},
}
"""The names of each id in the order of time, and whether it has them in the end."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("swaps"))


@pytest.mark.parametrize("name", STORIES)
def test_no_name_is_claimed_for_both_tables(name: str, told: Store) -> None:
    for ident, names in NAMES[name].items():
        answer = ask(stories.of(name, told), find("former-names"), {"object_id": ident})
        rows = sorted(answer.dicts(), key=lambda row: row["valid_from"] or "")
        assert [(row["name"], row["valid_until"] is None) for row in rows] == names
        assert any("cut by Snowflake (object_modified_by_ddl)" in note for note in answer.notes) == (name != "whole")
