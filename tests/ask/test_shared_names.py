"""Names that several objects have at one time, as far as rows tell, as after a SWAP of schemas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import Store

from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import at, changed, copied, read, thing
from tests.ask.test_object_names import SHARE, SOURCE, schema, within

if TYPE_CHECKING:
    from exporter.ask.answers import Answer

Json = dict[str, Any]


def live(number: int) -> Json:
    return thing("K", number)


def granted(number: int) -> Json:
    properties = {
        "PRIVILEGES": ["SELECT"],
        "SECURABLE_OBJECT_DOMAIN": "TABLE",
        "SECURABLE_OBJECT_ID": number,
        "SECURABLE_OBJECT_NAME": "R.LIVE.K",
    }
    return changed(SHARE, grant={"value": properties})


def night(number: int) -> list[Json]:
    """Three queries: a table is made in R.NEXT, this is swapped with R.LIVE, and the table is read there."""
    one, other = (10, 11) if number % 2 else (11, 10)
    return [
        within("R.NEXT", copied(SOURCE, live(700 + number), "CREATE" if number == 1 else "REPLACE")),
        schema("R.LIVE", one, "R.NEXT", other),
        {**schema("R.NEXT", other, "R.LIVE", one), "again": True},
        within("R.LIVE", read(live(700 + number), "BI")),
    ]


FIRST: Final = within("R.LIVE", copied(SOURCE, live(700), "CREATE"))
STORIES: Final[dict[str, list[Json]]] = {
    # q1 makes 700; q2 to q4, q5 to q7 and q8 to q10 are nights with 701, 702 and 703
    "nights": [FIRST, *night(1), *night(2), *night(3)],
    "nights-too": [FIRST, *night(1)],
    # q5 grants 701 to a share
    "shared": [FIRST, *night(1), granted(701), *night(2)],
    # q3 makes 701 in R.NEXT, q4 reads it there, and q5 swaps: no row shows it in R.LIVE
    "tested-before": [
        FIRST,
        within("R.LIVE", read(live(700), "BI")),
        within("R.NEXT", copied(SOURCE, live(701), "CREATE")),
        within("R.NEXT", read(live(701), "QA")),
        schema("R.LIVE", 10, "R.NEXT", 11),
        {**schema("R.NEXT", 11, "R.LIVE", 10), "again": True},
    ],
    # a temporary table hides a table for a session
    "hidden": [read(thing("T", 1)), read(thing("T", 2)), read(thing("T", 1))],
    "replaced": [copied(SOURCE, thing("T", 1), "CREATE"), copied(SOURCE, thing("T", 2), "REPLACE")],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("shared"))


def answered(whole: Store, story: str, question: str, **given: str) -> Answer:
    return ask(stories.of(story, whole), find(question), given)


def ids(notes: str) -> list[str]:
    return re.findall(r"ask by object_id=(\d+)", notes)


@pytest.mark.parametrize(
    ("question", "given", "when"),
    [
        ("lineage-as-of", {"at": at(10.5)}, f"At {at(10.5)}"),
        ("root-cause", {"column_name": "C", "at": at(10.5)}, f"At {at(10.5)}"),
        ("root-cause", {"column_name": "C"}, "At the end of the record"),
        ("former-names", {}, "At the end of the record"),
    ],
)
def test_the_object_is_told_that_rows_show_last(question: str, given: dict[str, str], when: str, whole: Store) -> None:
    """First of all notes. All other tables of this name were swapped away."""
    answer = answered(whole, "nights", question, object_name="R.LIVE.K", **given)
    assert len(answer.rows) > 1
    assert answer.notes[0] == (
        f"{when} 4 objects have the name R.LIVE.K, as far as rows tell, as after a SWAP of its schema, beside a "
        "temporary table, or while a statement replaces it. The answer is of all of them. Rows show object_id=703 "
        f"with it last (since {at(10)}): ask by object_id=703."
    )
    by_id = answered(whole, "nights", question, object_id="703", **given)
    assert 0 < len(by_id.rows) < len(answer.rows)
    assert not ids("\n".join(by_id.notes))


def test_what_a_swap_brought_is_told_before_a_row_shows_it(whole: Store) -> None:
    """Query 9 swaps the schemas."""
    for time, ident in ((8.5, "702"), (9.5, "703")):
        answer = answered(whole, "nights", "lineage-as-of", object_name="r.live.k", at=at(time))
        assert "3 objects have the name r.live.k" in answer.notes[0]
        assert ids(answer.notes[0]) == [ident]
        assert [row[1] for row in answered(whole, "nights", "lineage-as-of", object_id=ident, at=at(time)).rows] == [
            f"q{3 * int(ident[-1]) - 1}"
        ]
    assert f"A SWAP brought object_id=703 to it, which had the name R.NEXT.K (since {at(8)})" in answer.notes[0]


def test_an_id_without_rows_is_not_advised(whole: Store) -> None:
    answer = answered(whole, "shared", "exposure", object_name="R.LIVE.K")
    assert {row["object_name"] for row in answer.dicts()} == {"R.LIVE.K"}
    assert "Rows show object_id=702 with it last" in answer.notes[0]
    assert answer.notes[0].endswith("by object_id=702 the answer is empty.")
    assert not answered(whole, "shared", "exposure", object_id="702").rows
    answer = answered(whole, "shared", "exposure", object_name="R.LIVE.K", at=at(5.5))
    assert ids(answer.notes[0]) == ["701"]
    assert answered(whole, "shared", "exposure", object_id="701", at=at(5.5)).rows


def test_a_temporary_table_has_the_name_for_a_session(whole: Store) -> None:
    """Rows show the other one after it. While it has the name, the other one may be used beside it."""
    assert ids(answered(whole, "hidden", "former-names", object_name="D.S.T").notes[0]) == ["1"]
    then = answered(whole, "hidden", "policy-coverage", object_name="D.S.T", at=at(2.5))
    assert not [one for one in then.notes if "objects have the name" in one]


def test_nothing_is_told_where_one_object_has_the_name_or_the_answer_is_of_a_time(whole: Store) -> None:
    for story, question, given in (
        ("replaced", "former-names", {"object_name": "D.S.T"}),
        ("nights", "former-names", {"object_name": "R.NEXT.K"}),
        ("nights", "lineage-as-of", {"object_name": "R.LIVE.K", "at": at(1.5)}),
        ("nights", "lineage-as-of", {"object_name": "R.LIVE.K", "object_id": "702", "at": at(10.5)}),
        ("nights", "who-accessed", {"object_name": "R.LIVE.K"}),
    ):
        notes = answered(whole, story, question, **given).notes
        assert not [one for one in notes if "objects have the name" in one]


def test_each_account_has_its_own_objects(whole: Store) -> None:
    both = Store()
    for story in ("nights", "nights-too"):
        both.extend(stories.of(story, whole))
    notes = ask(both, find("former-names"), {"object_name": "R.LIVE.K"}).notes
    assert "4 objects of the account STORY-nights have the name R.LIVE.K" in notes[0] + notes[1]
    assert "2 objects of the account STORY-nights-too have the name R.LIVE.K" in notes[0] + notes[1]


# --- unused objects ---------------------------------------------------------------------------------------------------


def test_the_name_of_what_is_in_use_is_told_first(whole: Store) -> None:
    """The tables of former nights are listed under the name of the table that is read."""
    for of_page in (False, True):
        answer = ask(stories.of("nights", whole), find("unused-objects"), {"since": at(10)}, of_page=of_page)
        assert "R.LIVE.K" in {row["object_name"] for row in answer.dicts()}
        assert answer.notes[0] == (
            "Drop nothing by these names, which other objects have, too, that were read: R.LIVE.K (object_id=703, read "
            f"last at {at(10)}). What is listed may have another name now."
        )


def test_of_several_in_use_that_is_told_which_was_read_last(whole: Store) -> None:
    told = answered(whole, "nights", "unused-objects", since=at(7)).notes[0]
    assert re.findall(r"object_id=(\d+)", told) == ["703"]


@pytest.mark.parametrize(("story", "since", "is_told"), [
    ("nights", at(10.5), False),
    ("replaced", at(0), False),
    ("hidden", at(2.5), True),
])  # fmt: skip
def test_a_name_that_nothing_in_use_has_may_be_dropped(story: str, since: str, is_told: bool, whole: Store) -> None:  # noqa: FBT001 - a parameter
    answer = answered(whole, story, "unused-objects", since=since)
    assert answer.rows
    assert any("Drop nothing" in one for one in answer.notes) == is_told


def test_what_a_swap_brought_is_in_use_though_read_under_its_former_name(whole: Store) -> None:
    answer = answered(whole, "tested-before", "unused-objects", since=at(3))
    assert "R.LIVE.K" in {row["object_name"] for row in answer.dicts()}
    assert f"R.LIVE.K (object_id=701, read last at {at(4)})" in answer.notes[0]


def test_names_are_told_of_the_account_in_which_something_of_the_name_is_unused(whole: Store) -> None:
    both = Store()
    for story in ("nights", "nights-too"):
        both.extend(stories.of(story, whole))
    (note,) = [one for one in ask(both, find("unused-objects"), {"since": at(5)}).notes if "Drop nothing" in one]
    assert f"R.LIVE.K (object_id=703 of the account STORY-nights, read last at {at(10)})" in note
    assert "nights-too" not in note
