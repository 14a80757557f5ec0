"""What answers say of data of which no row says where it came from: of writes whose rows give neither columns nor
sources (calls to the Iceberg REST catalog, a TRUNCATE without its line of QUERY_HISTORY), and of what a view shows.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes import untold_writes
from exporter.ask.notes.index import NOT_ALL
from tests.ask import stories
from tests.ask.test_names import asked, at, changed, copied, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
S, T, U = (thing(name, number) for number, name in enumerate("STU", 1))
V: Final = thing("V", 20, "View")
BARE: Final = {key: value for key, value in T.items() if key != "columns"}
CATALOG: Final[Json] = {"event_source": "horizon_irc", "additional_properties": {"irc_event_type": "UpdateTable"}}
WRITTEN: Final[Json] = {"objects_modified": [BARE]}
STORIES: Final[dict[str, list[Json]]] = {
    "catalog": [{**WRITTEN, **CATALOG}, copied(T, U)],
    "emptied": [copied(S, T), WRITTEN, copied(T, U)],
    # nothing to tell: rows give columns or sources, or no data was written
    "changed": [changed(BARE, "CREATE"), copied(S, T), changed(BARE, comment={"value": "x"}), copied(T, U)],
    "read": [copied(S, T), {**read(S, "ETL"), **WRITTEN}, copied(T, U)],
    "other": [WRITTEN, copied(S, U)],
    # as of a column that is masked by a constant (view, "Masked columns")
    "view": [{**copied(V, T), "base_objects_accessed": []}, copied(T, U)],
    "shown-view": [{**copied(V, T), "base_objects_accessed": [S]}, copied(T, U)],
}
UNTOLD: Final = "give neither its columns nor its sources"
EMPTIED: Final = "such a row can be a TRUNCATE"
OF_T: Final[Json] = {"object_name": "D.S.T"}
ASKED: Final = [
    ("root-cause", {**OF_T, "column_name": "C"}),
    ("root-cause", {**OF_T, "column_name": "C", "at": at(9)}),
    ("lineage-as-of", {**OF_T, "at": at(9)}),
    ("column-lineage", {"target_object_name": "D.S.T"}),
]
ON_THE_WAY: Final = [(name, {**given, "object_name": "D.S.U"}) for name, given in ASKED[:-1]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("untold-writes"))


def note(question: str, story: str, whole: Store, **given: str) -> str:
    answer = asked(question, stories.of(story, whole), **given)
    return next((one for one in answer.notes if UNTOLD in one), "")


@pytest.mark.parametrize(("story", "query"), [("catalog", "q1"), ("emptied", "q2")])
@pytest.mark.parametrize(("question", "given"), [*ASKED, *ON_THE_WAY])
def test_writes_without_columns_and_sources_are_told(
    question: str, given: dict[str, str], story: str, query: str, whole: Store
) -> None:
    told = note(question, story, whole, **given)
    assert f"{UNTOLD}: query {query}. " in told
    assert (EMPTIED in told) == ("at" in given and story == "emptied")


@pytest.mark.parametrize("story", ["changed", "read"])
@pytest.mark.parametrize(("question", "given"), [*ASKED, *ON_THE_WAY])
def test_nothing_is_told_of_what_has_sources(question: str, given: dict[str, str], story: str, whole: Store) -> None:
    assert not note(question, story, whole, **given)


@pytest.mark.parametrize(("question", "given"), ON_THE_WAY)
def test_nothing_is_told_of_what_is_not_on_the_way(question: str, given: dict[str, str], whole: Store) -> None:
    assert not note(question, "other", whole, **given)


def test_only_writes_of_the_time_that_is_asked_for_are_told(whole: Store) -> None:
    for question, given in ASKED[1:3]:
        assert not note(question, "emptied", whole, **{**given, "at": at(1.5)})
    assert not note("column-lineage", "emptied", whole, target_object_name="D.S.T", since=at(3))


@pytest.mark.parametrize(("question", "given"), [*ASKED[:-1], *ON_THE_WAY])
def test_an_answer_that_ends_at_a_view_says_so(question: str, given: dict[str, str], whole: Store) -> None:
    told = "No row shows what is behind these views and streams of the answer: D.S.V."
    for story, is_told in (("view", True), ("shown-view", False)):
        notes = asked(question, stories.of(story, whole), **given).notes
        assert any(one.startswith(told) for one in notes) == is_told


@pytest.mark.parametrize("story", ["catalog", "read"])
def test_a_note_says_what_it_did_not_look_at(story: str, whole: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untold_writes, "_LOOKED_AT", 1)
    for question, given in ON_THE_WAY:
        assert NOT_ALL in asked(question, stories.of(story, whole), **given).notes
