"""What answers say of uses that they do not count: of objects that rows name otherwise than as read, and of columns
whose rows give no source.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.graph.store import load
from tests import exports
from tests.aggregates import calls
from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, asked, at, changed, copied, read, renamed, swapped, thing
from tests.ask.test_revokes import ALL, granted, opened, revoked, share, table

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
A, B, C, T = (thing(name, number) for number, name in enumerate("ABCT", 1))
NEXT: Final = thing("A_NEXT", 12)
OVER: Final = thing("V", 21, "View")
TAG: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}}
UNREAD: Final[Json] = {"direct_objects_accessed": [], "base_objects_accessed": []}
MASKED: Final[Json] = {"columns": [{"columnName": "C", "policies": [MASK]}]}
SHARED: Final = thing("T", 77)
BY_AGENT: Final[Json] = {"agents_info": [{"agentType": "CORTEX_AGENT", "agentId": 5, "agentName": "D.S.AGENT"}]}
PROVIDED: Final[Json] = {"provider_base_objects_accessed": [{**SHARED, "accountName": "OTHER"}]}
FROM_SHARE: Final[Json] = {**copied(thing("SHARED", 5), C), **PROVIDED}
SEEN: Final = {key: value for key, value in thing("SV", 0, "View").items() if key != "objectId"}
OLD: Final[Json] = {"objectDomain": "Schema", "objectId": 80, "objectName": "D.S"}
AROUND: Final[Json] = {"objectDomain": "Schema", "objectId": 81, "objectName": "D.COPY"}
WHOLE: Final[Json] = {"objectDomain": "Database", "objectId": 82, "objectName": "D2"}
BARE, BARE_COPY = ({key: value for key, value in one.items() if key != "columns"} for one in (A, B))
WHOLE_SOURCE: Final[Json] = {"columnName": "C", "directSources": [BARE], "baseSources": [BARE]}
FROM_COPY: Final[Json] = {"columnName": "C", "directSources": [BARE_COPY]}
CALLED: Final[Json] = {"event_source": "horizon_irc", "additional_properties": {"irc_event_type": "LoadTable"}}
STORIES: Final[dict[str, list[Json]]] = {
    "clean": [changed(A, "CREATE"), copied(A, B), read(B, "BEN")],
    # the table is named as the source of a column alone (beyond_the_documents.md)
    "source": [changed(A, "CREATE"), changed(B, "CREATE"), read(B), {**copied(A, C), **UNREAD}],
    # the same, and the source has no column, as a stage has none; the column that it filled goes on
    "whole-source": [
        read(A), {**copied(A, B), **UNREAD, "objects_modified": [{**B, "columns": [{**WHOLE_SOURCE}]}]}, copied(B, T),
    ],
    "whole-source-later": [
        copied(A, B), {**copied(B, C), **UNREAD, "objects_modified": [{**C, "columns": [{**FROM_COPY}]}]},
    ],
    # by an agent, of what is masked for another query; what was copied is among what was read, or not
    "agent-source": [read(A, masked=True), {**copied(A, C), **read(B), **BY_AGENT}],
    "agent-read": [read(A, masked=True), {**copied(A, C), **BY_AGENT}],
    # the second step of the way alone
    "on-the-way": [copied(A, B), {**copied(B, C), **UNREAD}],
    "shared": [copied(B, A), read(A), granted(share(), table(1, "D.S.A")), read(B)],
    "shared-by-name": [copied(B, A), read(A), granted(share(), table(None, "D.S.A")), read(B)],
    "shared-with-all": [copied(B, A), read(A), granted(share(), ALL), read(B)],
    "shared-by-nameless": [granted(share(None), table(1, "D.S.A")), opened("accountsToAdd", share(), "ACC"), read(A)],
    "not-shared": [
        read(A), granted(share(), table(1, "D.S.A")), revoked(share(), table(1, "D.S.A")), read(B),
    ],
    # the view lies between another one and its table; its policy is enforced
    "between": [
        changed(OVER, "CREATE"), changed(OVER),
        {**read(thing("W", 22, "View")), "base_objects_accessed": [A], "policies_referenced": [{**OVER, **MASKED}]},
    ],
    # a policy was enforced on the table that had the name before
    "replaced-and-masked": [
        changed(A, "CREATE"), {**read(A), "policies_referenced": [{**A, **MASKED}]},
        changed(thing("A", 13), "REPLACE"),
    ],
    # a pipe and an external table over the stage, whose rows do not name it
    "staged": [
        changed(thing("ST", 50, "Stage"), "CREATE"), changed(thing("EXT", 51, "External table"), "CREATE"),
        changed(thing("PIPE", 52, "PIPE"), "CREATE"), copied(thing("EXT", 51, "External table"), A),
    ],
    "cloned": [
        changed(A, "CREATE"),
        changed(B, "CREATE", cloneSourceName={"value": "D.S.A"}, cloneSourceDomain={"value": "TABLE"}), read(B),
    ],
    "cloned-around": [
        changed(A, "CREATE"), read(B), changed(AROUND, "CREATE", cloneSourceName={"value": "D.S"}),
        changed(C, "CREATE"),  # not in the clone
    ],
    "cloned-renamed": [
        changed(A, "CREATE"), changed(OLD, objectName={"value": "D.R"}), read(B),
        changed(AROUND, "CREATE", cloneSourceName={"value": "D.R"}),
    ],
    "cloned-database": [changed(A, "CREATE"), read(B), changed(WHOLE, "CREATE", cloneSourceName={"value": "D"})],
    # made anew each night: another object, and one table to its users
    "rebuilt": [copied(C, A, "CREATE"), read(A, "BEN"), copied(C, thing("A", 11), "REPLACE")],
    "put-aside": [
        read(A), granted(share(), table(1, "D.S.A")), copied(C, NEXT, "CREATE"), *swapped(A, NEXT),
        read(thing("A", 12)),
    ],
    "without-id": [changed(thing("A", 0), "CREATE"), read(A, "BEN"), {**UNREAD, "objects_modified": [thing("B", 0)]},
                   read(B)],
    "masked-without-id": [{**copied(A, B), "policies_referenced": [{**thing("A", 0), **MASKED}]}, read(B)],
    # no row says which column came from which
    "whole": [
        changed(A, columns={"C": {"tags": TAG, **SET_MASK["C"]}}), {**read(A), "objects_modified": [B]}, read(B, "BEN"),
    ],
    "by-column": [changed(A, columns={"C": {"tags": TAG}}), copied(B, C), read(A)],
    "share": [FROM_SHARE, read(C, "BEN")],
    # view, "Data sharing notes": the columns of a shared view are no baseSources
    "shared-view": [{**copied(OVER, C), "base_objects_accessed": [SEEN]}, copied(C, thing("OUT", 9, "Stage"))],
    "shared-table": [{**copied(OVER, C), "base_objects_accessed": [{**SHARED, "accountName": "OTHER"}]}],
    "provided": [
        {**copied(OVER, C), **PROVIDED, "provider_policies_referenced": [{**SHARED, "accountName": "OTHER", **MASKED}]},
        {**read(thing("W", 22, "View"), "BEN"), "base_objects_accessed": [C]},
    ],
    "constant": [{**copied(OVER, C), "base_objects_accessed": [A]}],
    # as the Iceberg REST catalog records a read of the table: without columns, and without its mask
    "no-columns": [
        copied(A, B), changed(A, columns=SET_MASK), read(A, "ANA", masked=True), {**read(BARE, "SPARK"), **CALLED},
        read(BARE, "TRINO"), {**read(BARE, "UNLOAD"), "objects_modified": [thing("OUT", 9, "Stage")]},
        {**read(A), "base_objects_accessed": [BARE]}, read(BARE_COPY, "DUCK"), read(thing("IN", 50, "Stage")),
        {**read(BARE, "ANA"), "policies_referenced": [{**BARE, **MASKED}]},
    ],
    "no-columns-renamed": [
        read(A), read(BARE, "BEN"), renamed(A, "C"), read({**BARE, "objectName": "D.S.C"}, "CLEO"),
        read(thing("A", 11), "DORA"),
    ],
    "listed": [
        {"object_modified_by_ddl": {"objectDomain": "LISTING", "objectName": "L", "objectId": 95,
                                    "operationType": "ALTER", "properties": {"addTargets": {"value": ["O.ACC"]}}}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("other-uses"))


def notes(question: str, story: str, whole: Store, **given: Any) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ("source", "D.S.A (source of what query q4 wrote)"),
        ("between", "D.S.V (a policy on it was enforced for query q3)"),
        ("cloned", "D.S.A (source of a CLONE or LIKE, query q2)"),
        ("cloned-around", "D.S.A (in D.S, which was cloned, query q3)"),
        ("cloned-renamed", "D.S.A (in D.R, which was cloned, query q4)"),
        ("cloned-database", "D.S.A (in D, which was cloned, query q3)"),
        ("rebuilt", f"D.S.A (has the name since {at(3)}; what had it before was read last at {at(2)})"),
        ("replaced-and-masked", f"D.S.A (has the name since {at(3)}; what had it before was read last at {at(2)})"),
        ("without-id", "D.S.A (read with an id), D.S.B (read with an id)"),
        ("masked-without-id", "D.S.A (read with an id)"),
    ],
)
def test_what_may_be_in_use_is_told_of_objects_that_no_query_read(story: str, told: str, whole: Store) -> None:
    assert f"do not count as read here: {told}." in notes("unused-objects", story, whole)
    assert "may be in use" not in notes("unused-objects", story, whole, since=at(9)), "nothing was done since"


def test_files_of_a_stage_may_be_in_use_without_a_row(whole: Store) -> None:
    assert "before you drop them: D.S.ST." in notes("unused-objects", "staged", whole)
    assert "Files of a stage" not in notes("unused-objects", "clean", whole, since=at(9))


@pytest.mark.parametrize("given", [{}, {"since": at(2)}, {"since": at(9)}])
def test_nothing_is_told_of_objects_that_are_not_in_use(given: dict[str, str], whole: Store) -> None:
    assert asked("unused-objects", stories.of("by-column", whole)).rows
    for story in ("clean", "by-column"):
        assert "may be in use" not in notes("unused-objects", story, whole, **given)


@pytest.mark.parametrize(
    "question", ["column-readers", "columns-accessed", "downstream-users", "when-accessed", "who-accessed"]
)
def test_a_source_of_columns_that_is_not_among_what_was_read_is_told(question: str, whole: Store) -> None:
    column = {"column_name": "C"} if question == "column-readers" else {}
    told = "Rows have D.S.A as the source of what queries wrote, and not among what they read: query q4."
    assert told in notes(question, "source", whole, object_name="D.S.A", **column)
    for story, name in (("source", "D.S.B"), ("clean", "D.S.A")):
        assert "as the source of what" not in notes(question, story, whole, object_name=name, **column)


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("agent-reads", {}),
        ("agent-reads", {"agent_name": "D.S.AGENT"}),
        ("unmasked-reads", {}),
        ("unmasked-reads", {"object_name": "D.S.A", "column_name": "C"}),
        ("sensitive-data-movement", {"object_name": "D.S.A"}),
    ],
)
def test_it_is_told_of_agents_masks_and_ways(question: str, given: dict[str, str], whole: Store) -> None:
    told = "Rows have D.S.A as the source of what queries wrote, and not among what they read: query q2."
    assert told in notes(question, "agent-source", whole, **given)
    assert "as the source of what" not in notes(question, "agent-read", whole, **given)


@pytest.mark.parametrize("question", ["sensitive-data-movement", "downstream-users"])
def test_it_is_told_of_what_the_data_went_through(question: str, whole: Store) -> None:
    answer = asked(question, stories.of("on-the-way", whole), object_name="D.S.A")
    assert "Rows have D.S.B as the source of what queries wrote" in "\n".join(answer.notes)


def test_what_was_filled_from_a_source_without_a_column_is_told_where_the_data_is_followed(whole: Store) -> None:
    """An answer about where data went begins at what queries read, or follows columns."""
    told = (
        "Rows have D.S.A as a source of what queries wrote, without a column, and not among what they read: query q2."
    )
    for given in ({}, {"column_name": "C"}):
        assert f"{told} The answer does not follow these. Ask end-up of what they wrote, too: D.S.B." in notes(
            "end-up", "whole-source", whole, object_name="D.S.A", **given
        )
    assert "D.S.T" in {row[0] for row in asked("end-up", stories.of("whole-source", whole), object_name="D.S.B").rows}
    later = notes("end-up", "whole-source-later", whole, object_name="D.S.A")
    assert "Rows have D.S.B as a source" in later
    assert "Ask end-up of what they wrote, too: D.S.C." in later
    by_column = notes("column-copies", "whole-source", whole, object_name="D.S.A", column_name="C")
    assert "do not say which column came from which: query q2." in by_column
    for story in ("source", "clean"):
        assert "without a column" not in notes("end-up", story, whole, object_name="D.S.A")


# --- reads without columns --------------------------------------------------------------------------------------------

WITHOUT: Final = "Rows list no columns of what"
OF_A: Final = {"object_name": "D.S.A", "column_name": "C"}
ALL_OF_A: Final = f"4 queries read of D.S.A (by ANA, SPARK, TRINO, UNLOAD, from {at(4)} to {at(10)})"
IN_CLEAR: Final = f"3 queries read of D.S.A (by SPARK, TRINO, UNLOAD, from {at(4)} to {at(6)})"


@pytest.mark.parametrize(
    ("question", "given", "told"),
    [
        ("column-readers", OF_A, ALL_OF_A),
        ("columns-accessed", {"object_id": "1"}, ALL_OF_A),
        ("column-readers", OF_A | {"since": at(5), "until": at(6)}, f"1 query read of D.S.A (by TRINO, at {at(5)})"),
        ("unmasked-reads", {}, IN_CLEAR),
        ("unmasked-reads", {"object_name": "D.S.A"}, IN_CLEAR),
        ("unmasked-copies", {}, f"1 query read of D.S.B (by DUCK, at {at(8)})"),
        ("end-up", OF_A, f"1 query read of D.S.A (by UNLOAD, at {at(6)})"),
    ],
)  # fmt: skip
def test_reads_of_which_rows_list_no_columns_are_told_where_columns_are_asked_for(
    question: str, given: dict[str, str], told: str, whole: Store
) -> None:
    """beyond_the_documents.md: ``event_source`` horizon_irc. Whether a query that lists A's columns lists them in one
    array or both, it lists them; and one that enforced the mask is no read unmasked.
    """
    assert f"{WITHOUT} {told}, so the answer does not have these" in notes(question, "no-columns", whole, **given)


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("who-accessed", {"object_name": "D.S.A"}),  # it has them
        ("end-up", {"object_name": "D.S.A"}),
        ("unmasked-reads", {"object_name": "D.S.B"}),  # which was never masked
        ("column-readers", {**OF_A, "until": at(4)}),
        ("columns-accessed", {"object_id": "50", "domain": "Stage"}),
    ],
)
def test_nothing_is_told_of_reads_that_no_answer_lacks(question: str, given: dict[str, str], whole: Store) -> None:
    assert WITHOUT not in notes(question, "no-columns", whole, **given)


def test_reads_without_columns_count_for_the_name_of_their_time(whole: Store) -> None:
    for name, told in {
        "D.S.A": f"1 query read of D.S.C (by BEN, at {at(2)})",
        "D.S.C": "2 queries read of D.S.C (by BEN, CLEO,",
    }.items():
        of_name = notes("column-readers", "no-columns-renamed", whole, object_name=name, column_name="C")
        assert f"{WITHOUT} {told}" in of_name


# --- what was granted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", ["shared", "shared-by-name", "shared-with-all", "not-shared"])
def test_what_is_granted_to_a_share_may_be_in_use(story: str, whole: Store) -> None:
    """docs/questions.md: reads in other accounts are in their own ACCESS_HISTORY alone."""
    graph = stories.of(story, whole)
    answer = asked("unused-objects", graph, since=at(3.5))
    assert ("D.S.A", "Table") in {row[:2] for row in answer.rows}
    assert ("D.S.A (granted to a share: reads in other accounts" in "\n".join(answer.notes)) == (story != "not-shared")


def test_a_grant_is_told_by_the_name_that_its_row_gives(whole: Store) -> None:
    told = notes("unused-objects", "put-aside", whole, since=at(3))
    assert "read here: D.S.A_NEXT (granted to a share as D.S.A: reads in other accounts" in told
    assert "D.S.A was granted to a share: reads" in notes("who-accessed", "put-aside", whole, object_name="D.S.A")


@pytest.mark.parametrize(
    ("question", "story", "given"),
    [
        ("exposure", "shared-by-name", {"object_id": "1", "domain": "Table"}),
        ("exposure", "shared-by-nameless", {"object_name": "D.S.A"}),
        ("exposure", "shared-by-nameless", {}),
    ],
)
def test_what_was_granted_in_the_other_form_is_told(
    question: str, story: str, given: dict[str, str], whole: Store
) -> None:
    name = "OUT" if story == "shared-by-nameless" else "D.S.A"
    assert f"Rows give {name} with an id and without" in notes(question, story, whole, **given)
    assert "with an id and without" not in notes(question, "shared", whole, **given)
    assert "with an id and without" not in notes("exposure", "shared-by-name", whole, object_name="D.S.A")


@pytest.mark.parametrize("story", ["shared", "shared-by-name"])
def test_readers_by_the_id_of_what_was_granted_are_not_all_on_record(story: str, whole: Store) -> None:
    assert "D.S.A was granted to a share" in notes("who-accessed", story, whole, object_id="1", domain="Table")


# --- columns without sources ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("column-copies", {"object_name": "D.S.A", "column_name": "C"}),
        ("column-lineage", {"target_object_name": "D.S.B"}),
        ("root-cause", {"object_name": "D.S.B", "column_name": "C"}),
        ("tag-reach", {}),
        ("unmasked-copies", {}),
    ],
)
def test_rows_that_give_no_source_of_any_column_are_told(question: str, given: dict[str, str], whole: Store) -> None:
    told = notes(question, "whole", whole, **given)
    assert "do not say which column came from which: query q2." in told
    assert "came from which" not in notes(question, "by-column", whole, **given)


def test_what_a_provider_shares_is_not_said_to_be_where_it_is_not(whole: Store) -> None:
    """Rows give the columns of what was shared, so that end-up follows these, and not the provider's table."""
    for question, given in {"end-up": {}, "column-copies": {"column_name": "C"}, "sensitive-data-movement": {}}.items():
        answer = asked(question, stories.of("share", whole), object_name="D.S.T", **given)
        assert not answer.rows
        told = "\n".join(answer.notes)
        assert "Queries that wrote read D.S.T, but it is not among their base objects" in told
        assert "downstream-users has who read what they wrote." in told
    rows = asked("downstream-users", stories.of("share", whole), object_name="D.S.T").rows
    assert ("BEN", "D.S.C") in {row[:2] for row in rows}


@pytest.mark.parametrize(
    ("story", "name", "targets"),
    [
        ("shared-view", "D.S.SV", {"D.S.V", "D.S.C", "D.S.OUT"}),
        ("shared-table", "D.S.T", {"D.S.V", "D.S.C"}),
        ("provided", "D.S.T", {"D.S.V", "D.S.C"}),
        ("constant", "D.S.A", {"D.S.V"}),
    ],
)
def test_what_came_through_a_view_over_shared_data_is_known_as_a_whole(
    story: str, name: str, targets: set[str], whole: Store
) -> None:
    """Of a view over a table of the account itself, a column without baseSources shows none of its columns."""
    answer = asked("end-up", stories.of(story, whole), object_name=name)
    assert {(row["target_name"], row["known_by"]) for row in answer.dicts()} == {(one, "OBJECT") for one in targets}
    told = "Rows do not say what is behind the columns of a view over shared data"
    is_shared = story != "constant"
    assert (told in notes("column-copies", story, whole, object_name=name, column_name="C")) == is_shared
    assert (told in notes("root-cause", story, whole, object_name="D.S.C", column_name="C")) == is_shared
    assert (told in notes("unmasked-copies", story, whole)) == (story == "provided")
    assert ("not in the answer: D.S.W." in "\n".join(answer.notes)) == (story == "provided")


def test_the_tables_of_a_provider_are_behind_the_view(whole: Store) -> None:
    """beyond_the_documents.md, ``provider_base_objects_accessed``: what the view is made of, in the other account."""
    answer = asked("lineage-as-of", stories.of("provided", whole), object_name="D.S.V", at=at(9))
    assert {row["source_object_name"] for row in answer.dicts()} == {"D.S.T"}
    assert "no row shows what is behind" not in "\n".join(answer.notes)


def test_a_mask_on_the_same_name_without_an_id_is_told_of_copies(whole: Store) -> None:
    answer = asked("unmasked-copies", stories.of("masked-without-id", whole))
    assert not answer.rows
    assert "Rows give D.S.A with an id and without" in "\n".join(answer.notes)


def test_what_was_written_without_the_id_is_told_of_an_answer_by_id(whole: Store) -> None:
    assert "Rows give D.S.B with an id and without" in notes("writers", "without-id", whole, object_id="2")
    assert "with an id and without" not in notes("writers", "clean", whole, object_id="1", until=at(1))


def test_targets_of_listings_are_told(whole: Store) -> None:
    assert "Rows of listings say to whom a share is published" in notes("exposure", "listed", whole)
    assert "listings" not in notes("exposure", "clean", whole)


def test_a_time_within_an_interval_of_added_up_queries_is_told(tmp_path: Path) -> None:
    single = {"query_id": "q1", "query_start_time": "2026-01-01 07:00:00 +0000", **read(B)}
    rows = exports.ndjson([single], tmp_path / "rows.ndjson")
    short = exports.ndjson([calls("2026-01-01T08:00", "ANA", "h", 5, [A])], tmp_path / "short.ndjson")
    assert exports.export([rows], tmp_path / "out", "--outputs", "graph", "--aggregate", str(short)) == 0
    graph = load(tmp_path / "out")
    for question in ("who-accessed", "downstream-users", "unused-objects"):
        of_object = {} if question == "unused-objects" else {"object_name": "D.S.A"}
        for seconds in ("00", "30"):
            answer = asked(question, graph, since=f"2026-01-01T08:00:{seconds}", **of_object)
            assert ("within one: all its calls count at its start" in "\n".join(answer.notes)) == (seconds == "30")


def test_what_is_written_within_an_interval_is_there_at_its_end(tmp_path: Path) -> None:
    """docs/input.md, "Short queries on hybrid tables"; a source that no call read is told in a sentence."""
    single = {"query_id": "q1", "query_start_time": "2026-01-01 07:00:00 +0000", **read(B)}
    rows = exports.ndjson([single], tmp_path / "rows.ndjson")
    short = exports.ndjson([calls("2026-01-01T08:00", "ANA", "h", 5, (), copied(A, C)["objects_modified"])],
                           tmp_path / "short.ndjson")  # fmt: skip
    assert exports.export([rows], tmp_path / "out", "--outputs", "graph", "--aggregate", str(short)) == 0
    graph = load(tmp_path / "out")
    for question in ("lineage-as-of", "root-cause"):
        of_column = {"column_name": "C"} if question == "root-cause" else {}
        for seconds, is_within in {"08:00:00": False, "08:00:30": True, "08:01:00": False}.items():
            answer = asked(question, graph, object_name="D.S.C", at=f"2026-01-01T{seconds}", **of_column)
            assert bool(answer.rows) == (seconds == "08:01:00")
            assert ("within one: what its calls wrote is there at its end" in "\n".join(answer.notes)) == is_within
    told = "\n".join(asked("who-accessed", graph, object_name="D.S.A").notes)
    assert "not among what they read: queries without an id at 2026-01-01T08:00:00Z." in told
