"""Masks that a query enforced on another object than the one that it read unmasked: with reads by day, too.

docs/graph.md, "Reads by day": the questions have the same answers on both. The documents' rows name the policies beside
the object that they are set on (view, "policies_referenced"), which need not be the one in the column of reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
AGENT: Final = {"agentType": "CORTEX_AGENT", "agentId": 910, "agentName": "D.S.HELPER"}
POLICY: Final = {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}
TABLE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
VIEW: Final = {"objectDomain": "View", "objectId": 2, "objectName": "D.S.V"}
OTHER: Final = {"objectDomain": "Table", "objectId": 3, "objectName": "D.S.OTHER"}
BETWEEN: Final = {"objectDomain": "View", "objectId": 4, "objectName": "D.S.BETWEEN"}
NO_ID: Final = {"objectDomain": "Table", "objectName": "D.S.T"}
NO_KIND: Final = {"objectName": "D.S.T"}
READS: Final = ("full", "daily")
MAY: Final = "Some of these queries enforced a masking policy on the same name without an id or in another letter case"


def of(thing: Json, *columns: str) -> Json:
    return {**thing, "columns": [{"columnName": column} for column in columns]}


def read(day: int, direct: Json, *masked_things: Json, base: Json | None = None, hour: int = 6, **told: Any) -> Json:
    """A read of column C, in which the mask was enforced on C of these objects."""
    own = {"query_id": f"q{day}-{hour}", "query_start_time": f"2026-01-{day:02}T{hour:02}:00:00Z", "user_name": "ANA"}
    masks = [{**thing, "columns": [{"columnName": "C", "policies": [POLICY]}]} for thing in masked_things]
    return {
        **own,
        "direct_objects_accessed": [of(direct, "C")],
        "base_objects_accessed": [of(base or direct, "C")],
        "policies_referenced": masks,
        "agents_info": [AGENT],
        **told,
    }


MASKED: Final = read(1, TABLE, TABLE)
"""Shows that the column is masked at some time, so that the question is about it."""


def asked(question: str, rows: list[Json], reads: str, folder: Path, **given: str) -> Answer:
    path = exports.ndjson([MASKED, *rows], folder / "rows.ndjson")
    assert exports.export([path], folder / "out", "--outputs", "graph", "--reads", reads) == 0
    return ask(load(folder / "out"), find(question), given)


def masks_by_day(answer: Answer, name: str) -> dict[str, set[str | None]]:
    """What agent-reads says of an object, by day."""
    found: dict[str, set[str | None]] = {}
    for row in answer.dicts():
        if row["object_name"] == name:
            found.setdefault(str(row["query_start_time"])[8:10], set()).add(row["mask"] or None)
    return found


@pytest.mark.parametrize("named", [NO_ID, NO_KIND])
@pytest.mark.parametrize("reads", READS)
def test_a_policy_by_the_name_alone_may_be_of_the_table(reads: str, named: Json, tmp_path: Path) -> None:
    """docs/questions.md: empty, where the row gives the policy for an object of this name without its id."""
    rows = [read(2, TABLE), read(3, TABLE, named), read(4, OTHER, named)]
    answer = asked("agent-reads", rows, reads, tmp_path)
    assert masks_by_day(answer, "D.S.T") == {"01": {"MASKED"}, "02": {"CLEAR"}, "03": {None}}
    assert masks_by_day(answer, "D.S.OTHER") == {"04": {"CLEAR"}}


WHOLE: Final = [
    ("the object", read(3, TABLE, policies_referenced=[{**TABLE, "policies": [POLICY]}]), "D.S.T"),
    ("its name", read(3, TABLE, policies_referenced=[{**NO_KIND, "policies": [POLICY]}]), "D.S.T"),
    ("another object", read(3, TABLE, policies_referenced=[{**OTHER, "policies": [POLICY]}]), None),
]
"""A policy of which the row names no column, and the object of which it may cover what was read."""


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize(("on", "row", "place"), WHOLE)
def test_a_policy_without_a_column_may_be_on_any(
    on: str, row: Json, place: str | None, reads: str, tmp_path: Path
) -> None:
    """View, "policies_referenced": policies of objects, and of columns. docs/questions.md: empty, if none is named."""
    of_agents = asked("agent-reads", [row], reads, tmp_path)
    assert masks_by_day(of_agents, "D.S.T")["03"] == {
        None if place and (on == "the object" or reads == "full") else "CLEAR"
    }
    in_clear = ask(load(tmp_path / "out"), find("unmasked-reads"), {"object_name": "D.S.T"})
    assert [one["mask"] for one in in_clear.dicts()] == ["UNKNOWN" if on == "the object" else "WHILE"]
    for answer in (of_agents, in_clear):
        assert bool([note for note in answer.notes if note.startswith(MAY)]) == bool(place)


def test_by_day_a_policy_by_the_name_alone_may_be_of_any_read_of_the_day(tmp_path: Path) -> None:
    """But not of those of another user, or those that were all before or after it."""
    by_other = read(3, TABLE, user_name="BEN", query_id="q3-ben")
    rows = [read(3, TABLE, hour=5), read(3, TABLE, NO_ID), read(4, TABLE, hour=5), read(4, OTHER, NO_ID), by_other]
    answer = asked("agent-reads", rows, "daily", tmp_path)
    assert masks_by_day(answer, "D.S.T")["04"] == {"CLEAR"}
    said = {(row["user_name"], row["mask"] or None) for row in answer.dicts() if "-03T" in str(row["query_start_time"])}
    assert said == {("ANA", None), ("BEN", "CLEAR")}


ELSEWHERE: Final = {
    "by its name alone": ([read(3, TABLE, NO_ID)], {"D.S.T.C"}),
    "behind the view": ([read(3, VIEW, TABLE, base=TABLE)], set[str]()),
    "on the view": ([read(3, VIEW, VIEW, base=TABLE)], {"D.S.V.C"}),
    "on a view between the two": ([read(3, VIEW, BETWEEN, base=TABLE)], {"D.S.BETWEEN.C"}),
    "on another column of the view": (
        [
            read(
                3,
                VIEW,
                policies_referenced=[{**VIEW, "columns": [{"columnName": "D", "policies": [POLICY]}]}],
                base=TABLE,
            )
        ],
        set[str](),
    ),
    "on another object": ([read(3, TABLE, OTHER)], set[str]()),
    "on another base object": (
        [read(3, VIEW, OTHER, base_objects_accessed=[of(TABLE, "C"), of(OTHER, "C")])],
        set[str](),
    ),
    "in another letter case": (
        [read(3, TABLE, policies_referenced=[{**TABLE, "columns": [{"columnName": '"C"', "policies": [POLICY]}]}])],
        {'D.S.T."C"'},
    ),
    "nowhere": ([read(3, TABLE)], set[str]()),
}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_mask_that_may_have_covered_what_was_read_is_told(where: str, reads: str, tmp_path: Path) -> None:
    """The answer about the table, which was masked on the first day."""
    rows, told = ELSEWHERE[where]
    notes = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.T").notes
    found = {note.rpartition(": ")[2] for note in notes if note.startswith(MAY)}
    read_by = {"full": "query q3-6", "daily": "reads of ANA at 2026-01-03T06:00:00Z"}[reads]
    assert found == {f"{place} in {read_by}." for place in told}


def through(
    day: int, shown: str, behind: str, on: tuple[Json, str], *, direct: tuple[Json, str] | None = None, **told: Any
) -> Json:
    """A read of these columns of the view, behind which are these of the table, with a mask on a column of an object;
    ``direct``: what it read besides.
    """
    more = [of(direct[0], *direct[1])] if direct else []
    return {
        **read(day, VIEW),
        "direct_objects_accessed": [of(VIEW, *shown), *more],
        "base_objects_accessed": [of(TABLE, *behind), *more],
        "policies_referenced": [{**on[0], "columns": [{"columnName": on[1], "policies": [POLICY]}]}],
        **told,
    }


def shows(day: int, shown: str, behind: str) -> Json:
    """A query that wrote what it read through the view, so that rows say what is behind its column."""
    source, base = ({**thing, "columnName": name} for thing, name in ((VIEW, shown), (TABLE, behind)))
    filled = {"columnName": "X", "directSources": [source], "baseSources": [base]}
    written = [{**OTHER, "columns": [filled]}]
    return {**through(day, shown, behind, (OTHER, "X")), "policies_referenced": [], "objects_modified": written}


def copies(day: int, *pairs: tuple[str, str]) -> Json:
    """A query that wrote these columns of the view, each with the one behind it, and masked C of the table."""
    columns = [
        {
            "columnName": shown,
            "directSources": [{**VIEW, "columnName": shown}],
            "baseSources": [{**TABLE, "columnName": behind}],
        }
        for shown, behind in pairs
    ]
    shown, behind = ("".join(pair[number] for pair in pairs) for number in (0, 1))
    return {**through(day, shown, behind, (TABLE, "C")), "objects_modified": [{**OTHER, "columns": columns}]}


def replaced(day: int) -> Json:
    """CREATE OR REPLACE of the view, at noon, by its own id."""
    change = {**VIEW, "operationType": "REPLACE", "properties": {}}
    return {"query_id": f"r{day}", "query_start_time": f"2026-01-{day:02}T12:00:00Z", "user_name": "DBA",
            "direct_objects_accessed": [], "base_objects_accessed": [], "object_modified_by_ddl": change}  # fmt: skip


OF_OTHER_NAMES: Final[dict[str, tuple[list[Json], set[str]]]] = {
    "on the view": ([through(3, "E", "C", (VIEW, "E"))], {"D.S.V.E"}),
    "on one of several": ([through(3, "EF", "CB", (VIEW, "F"))], {"D.S.V.F"}),
    "on one that has the name of another": ([through(3, "B", "CB", (VIEW, "B"))], {"D.S.V.B"}),
    "on a column that was not read": ([through(3, "E", "C", (VIEW, "F"))], set()),
    "beside the column of the same name": ([through(3, "CF", "CB", (VIEW, "F"))], set()),
    "on the column that shows it": ([shows(2, "E", "C"), through(3, "EF", "CB", (VIEW, "E"))], {"D.S.V.E"}),
    "on one that shows another": ([shows(2, "E", "B"), through(3, "EF", "CB", (VIEW, "E"))], set()),
    "beside the one that shows it": ([shows(2, "E", "C"), through(3, "EF", "CB", (VIEW, "F"))], set()),
    "on one that showed another by the former definition": (
        [shows(2, "E", "B"), replaced(2), through(3, "EF", "CB", (VIEW, "E"))],
        {"D.S.V.E"},
    ),
    "beside the one that showed it by the former definition": (
        [shows(2, "E", "C"), replaced(2), through(3, "EF", "CB", (VIEW, "F"))],
        {"D.S.V.F"},
    ),
    "on one that shows another by the later definition": (
        [through(3, "EF", "CB", (VIEW, "E")), replaced(4), shows(5, "E", "B")],
        {"D.S.V.E"},
    ),
    "beside the one of its name, which shows another": (
        [shows(2, "C", "B"), through(3, "CF", "CB", (VIEW, "F"))],
        {"D.S.V.F"},
    ),
    "beside one of its name, which another table has, too": (
        [through(3, "CF", "C", (VIEW, "F"), base_objects_accessed=[of(TABLE, "C"), of(OTHER, "C")])],
        {"D.S.V.F"},
    ),
    "beside one of its name, which the table has in another letter case, too": (
        [through(3, "CF", "Cc", (VIEW, "F"))],
        {"D.S.V.F"},
    ),
    "beside one of its name, which another table has that was not read": (
        [
            {**through(2, "C", "C", (VIEW, "X")), "base_objects_accessed": [of(TABLE, "C"), of(OTHER, "C")]},
            through(3, "CF", "CB", (VIEW, "F")),
        ],
        set(),
    ),
    "of what was read by its own name": (
        [through(3, "E", "C", (VIEW, "E"), direct=(TABLE, "C"), base_objects_accessed=[of(TABLE, "C")])],
        set(),
    ),
}
"""A mask on a column that the view calls otherwise than the table, and whether it may have covered the table's C."""


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("where", OF_OTHER_NAMES)
def test_a_mask_on_a_column_of_another_name_is_told_if_rows_do_not_say_which_it_is(
    where: str, reads: str, tmp_path: Path
) -> None:
    """docs/questions.md, "Notes": a mask over the table; rows of reads do not say which column of the view it is in."""
    rows, told = OF_OTHER_NAMES[where]
    read_by = {"full": "query q3-6", "daily": "reads of ANA at 2026-01-03T06:00:00Z"}[reads]
    in_clear = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.T", column_name="C")
    of_agents = ask(load(tmp_path / "out"), find("agent-reads"), {"since": "2026-01-03"})
    assert "CLEAR" in {row["mask"] for row in of_agents.dicts() if row["object_name"] == "D.S.T"}
    found = {note.rpartition(": ")[2] for note in in_clear.notes if note.startswith(MAY)}
    assert found == {f"{place} in {read_by}." for place in told}
    # of all columns that the agent read
    of_all = [note for note in of_agents.notes if note.startswith(MAY)]
    assert all(any(place in note for note in of_all) for place in told)


OF_VIEWS: Final[dict[str, tuple[list[Json], set[str]]]] = {
    "no row says what it shows": ([through(3, "EF", "BC", (TABLE, "C"))], {"D.S.T.C"}),
    "the masked one is shown by another, too": (
        [shows(2, "F", "C"), through(3, "E", "C", (TABLE, "C"))],
        {"D.S.T.C"},
    ),
    "the masked one is shown by another, which was read, too": (
        [shows(2, "F", "C"), through(3, "EF", "C", (TABLE, "C"))],
        {"D.S.T.C"},
    ),
    "it shows another": ([shows(2, "E", "B"), through(3, "EF", "BC", (TABLE, "C"))], set()),
    "it showed another by the former definition": (
        [shows(2, "E", "B"), replaced(2), through(3, "EF", "BC", (TABLE, "C"))],
        {"D.S.T.C"},
    ),
    "it shows another by the later definition": (
        [through(3, "EF", "BC", (TABLE, "C")), replaced(4), shows(5, "E", "B")],
        {"D.S.T.C"},
    ),
    "it showed another that is not read any more": (
        [shows(2, "E", "B"), through(3, "EF", "AC", (TABLE, "C"))],
        {"D.S.T.C"},
    ),
    "the masked one need not be read": ([through(3, "EF", "B", (TABLE, "C"))], {"D.S.T.C"}),
    "the one of its name was read": ([through(3, "EF", "EB", (TABLE, "C"))], set()),
    "the masked one was masked, too, where rows show another": (
        [
            {
                **shows(2, "E", "B"),
                "policies_referenced": [{**TABLE, "columns": [{"columnName": "C", "policies": [POLICY]}]}],
            },
            through(3, "E", "BC", (TABLE, "C")),
        ],
        {"D.S.T.C"},
    ),
    "the masked one was masked, too, and copied, where rows show another": (
        [copies(2, ("E", "B"), ("F", "C")), through(3, "E", "BC", (TABLE, "C"))],
        set(),
    ),
    "the masked one was masked, too, where rows show the one of its name": (
        [
            {
                **shows(2, "E", "E"),
                "policies_referenced": [{**TABLE, "columns": [{"columnName": "C", "policies": [POLICY]}]}],
            },
            through(3, "EF", "EC", (TABLE, "C")),
        ],
        set(),
    ),
    "another one was masked where rows show another": (
        [
            {
                **shows(2, "E", "B"),
                "policies_referenced": [{**TABLE, "columns": [{"columnName": "A", "policies": [POLICY]}]}],
            },
            through(3, "E", "BC", (TABLE, "C")),
        ],
        set(),
    ),
}
"""A mask on a column behind the view, and whether it may have covered the view's E. It is masked later."""


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("where", OF_VIEWS)
def test_a_mask_behind_a_view_is_told_unless_rows_say_of_what_the_column_is(
    where: str, reads: str, tmp_path: Path
) -> None:
    """View, "policies_referenced", and docs/graph.md, "Views and streams": a source belongs to one definition of the
    view, and a column behind it can be in several of its columns. View, "Masked columns": one that a constant masks is
    no source, and need not be read.
    """
    rows, told = OF_VIEWS[where]
    rows = [*rows, through(8, "E", "B", (VIEW, "E"))]
    read_by = {"full": "query q3-6", "daily": "reads of ANA at 2026-01-03T06:00:00Z"}[reads]
    answer = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.V", column_name="E", since="2026-01-03")
    assert "BEFORE" in {row["mask"] for row in answer.dicts()}
    found = {note.rpartition(": ")[2] for note in answer.notes if note.startswith(MAY)}
    assert found == {f"{place} in {read_by}." for place in told}


@pytest.mark.parametrize("reads", READS)
def test_a_mask_on_a_view_over_what_had_the_name_of_its_table_before_is_told(reads: str, tmp_path: Path) -> None:
    """docs/graph.md, "Views and streams": a table that is made anew is another one; that the view is over the new one
    says nothing against the former one, which it showed under the same name.
    """
    anew = {**TABLE, "objectId": 9}
    joined = through(3, "E", "C", (VIEW, "E"), direct=(OTHER, "X"))
    alone = {**through(5, "E", "C", (OTHER, "X")), "policies_referenced": []}
    later = {**alone, "base_objects_accessed": [of(anew, "C")]}
    answer = asked("unmasked-reads", [joined, later], reads, tmp_path, object_id="1", domain="Table", column_name="C")
    read_by = {"full": "query q3-6", "daily": "reads of ANA at 2026-01-03T06:00:00Z"}[reads]
    assert [note.rpartition(": ")[2] for note in answer.notes if note.startswith(MAY)] == [f"D.S.V.E in {read_by}."]


@pytest.mark.parametrize("reads", READS)
def test_a_mask_behind_a_view_that_calls_the_column_otherwise_is_told_of_the_view(reads: str, tmp_path: Path) -> None:
    rows = [through(2, "E", "C", (VIEW, "E")), through(3, "E", "C", (TABLE, "C"))]
    notes = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.V").notes
    assert [note.rpartition(": ")[2].partition(" in ")[0] for note in notes if note.startswith(MAY)] == ["D.S.T.C"]


@pytest.mark.parametrize("reads", READS)
def test_a_mask_behind_the_view_is_told_of_the_view(reads: str, tmp_path: Path) -> None:
    """The mask is on the view on the second day, and on the table behind it on the third."""
    rows = [read(2, VIEW, VIEW, base=TABLE), read(3, VIEW, TABLE, base=TABLE)]
    notes = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.V").notes
    assert [note.rpartition(": ")[2].partition(" in ")[0] for note in notes if note.startswith(MAY)] == ["D.S.T.C"]


@pytest.mark.parametrize("reads", READS)
def test_a_query_that_writes_is_told_in_both(reads: str, tmp_path: Path) -> None:
    written = [{**OTHER, "columns": [{"columnName": "C"}]}]
    notes = asked("unmasked-reads", [read(3, TABLE, NO_ID, objects_modified=written)], reads, tmp_path).notes
    assert [note.rpartition(": ")[2] for note in notes if note.startswith(MAY)] == ["D.S.T.C in query q3-6."]


def test_reads_of_another_query_day_or_user_are_not_told(tmp_path: Path) -> None:
    rows = [read(3, TABLE), read(4, OTHER, NO_ID), read(3, OTHER, NO_ID, hour=7)]
    rows.append(read(3, OTHER, NO_ID, user_name="BEN", query_id="q3-ben"))
    notes = asked("unmasked-reads", rows, "daily", tmp_path, object_name="D.S.T").notes
    assert not any(note.startswith(MAY) for note in notes)


NEVER: Final = {
    "behind the view": ("D.S.V", read(3, VIEW, TABLE, base=TABLE), "D.S.T.C"),
    "behind a view of which the statement names the table": (
        "D.S.V",
        read(3, VIEW, TABLE, base=TABLE, direct_objects_accessed=[of(VIEW, "C"), of(TABLE, "C")]),
        None,
    ),
    "on the view": ("D.S.OTHER", read(3, VIEW, VIEW, base=OTHER), "D.S.V.C"),
    "on a view between the two": ("D.S.OTHER", read(3, VIEW, BETWEEN, base=OTHER), "D.S.BETWEEN.C"),
    "by its name alone": ("D.S.OTHER", read(3, OTHER, {**OTHER, "objectId": None}), "D.S.OTHER.C"),
    "without a column": (
        "D.S.OTHER",
        read(3, OTHER, policies_referenced=[{**OTHER, "policies": [POLICY]}]),
        "D.S.OTHER",
    ),
    "on the view without a column": (
        "D.S.OTHER",
        read(3, VIEW, base=OTHER, policies_referenced=[{**VIEW, "policies": [POLICY]}]),
        "D.S.V",
    ),
    "on another object": ("D.S.OTHER", read(3, OTHER, TABLE), None),
    "on the other one of two": (
        "D.S.OTHER",
        read(3, OTHER, TABLE, direct_objects_accessed=[of(OTHER, "C"), of(TABLE, "C")]),
        None,
    ),
    "on another column's": (
        "D.S.OTHER",
        read(3, VIEW, VIEW, base_objects_accessed=[of(OTHER, "B")]),
        "",
    ),
}
"""A question about the first, that no row masks: what else the row masks, and may have covered what was read. The empty
text: without the column in the question.
"""


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("where", NEVER)
def test_what_is_never_masked_itself_may_be_masked_elsewhere(where: str, reads: str, tmp_path: Path) -> None:
    """View, "policies_referenced": also policies "set on intermediate objects or columns"; so "read unmasked" is wrong
    of what was only read where one of these was enforced.
    """
    name, row, place = NEVER[where]
    rows = [{**row, "user_name": "BEN"}, read(4, OTHER, user_name="EVE"), read(5, VIEW, base=TABLE, user_name="EVE")]
    answer = asked("unmasked-reads", rows, reads, tmp_path, object_name=name, column_name="C")
    assert not answer.rows
    (note,) = [note for note in answer.notes if note.startswith(f"No row shows a masking policy on {name}")]
    assert ("read it unmasked" in note) == (not place)
    assert note.endswith(f": {place}." if place else "lists the readers).")


def test_answers_about_all_objects_tell_of_policies_without_a_column(tmp_path: Path) -> None:
    row = read(3, OTHER, policies_referenced=[{**OTHER, "policies": [POLICY]}])
    of_reads = asked("unmasked-reads", [row], "full", tmp_path)
    for notes in (of_reads.notes, ask(load(tmp_path / "out"), find("unmasked-copies"), {}).notes):
        assert "Rows enforce masking policies without naming a column: on D.S.OTHER." in "\n".join(notes)
    of_another = ask(load(tmp_path / "out"), find("unmasked-reads"), {"object_name": "D.S.T"})
    assert "without naming" not in "\n".join(of_another.notes)


@pytest.mark.parametrize("reads", READS)
def test_an_agent_that_read_through_a_masked_view_may_not_have_read_in_clear(reads: str, tmp_path: Path) -> None:
    answer = asked("agent-reads", [read(3, VIEW, VIEW, base=OTHER), read(4, OTHER)], reads, tmp_path)
    assert masks_by_day(answer, "D.S.OTHER") == {"03": {"CLEAR"}, "04": {"CLEAR"}}
    (note,) = [note for note in answer.notes if note.startswith(MAY)]
    assert note.rpartition(": ")[2].startswith("D.S.V.C in ")
    assert note.count("D.S.V.C") == 1


@pytest.mark.parametrize("account", [{"accountName": "PROV"}, {}], ids=["named", "not named"])
@pytest.mark.parametrize("reads", READS)
def test_a_mask_of_the_provider_may_be_on_what_the_account_sees_of_it(
    reads: str, account: Json, tmp_path: Path
) -> None:
    """beyond_the_documents.md, ``provider_policies_referenced``: the provider's table has a name of its own."""
    theirs = {"objectDomain": "Table", "objectId": 1, "objectName": "PDB.S.T", **account}
    masked = [{**theirs, "columns": [{"columnName": "C", "policies": [POLICY]}]}]
    shared = {"provider_base_objects_accessed": [of(theirs, "C")], "provider_policies_referenced": masked}
    rows = [read(3, OTHER, **shared), read(3, TABLE, hour=8, **shared), read(4, OTHER)]
    own = asked("unmasked-reads", rows, reads, tmp_path, object_name="D.S.OTHER")
    (note,) = [note for note in own.notes if note.startswith("No row shows a masking policy on a column of D.S.OTHER")]
    assert note.endswith(": PDB.S.T.C.")
    graph = load(tmp_path / "out")
    seen = ask(graph, find("unmasked-reads"), {"object_name": "D.S.T"})
    assert [note for note in seen.notes if note.startswith(MAY) and "PDB.S.T.C in " in note]
    of_agents = ask(graph, find("agent-reads"), {})
    assert [note for note in of_agents.notes if note.startswith(MAY) and "PDB.S.T.C in " in note]


@pytest.mark.parametrize("base", [[of(VIEW, "C")], []], ids=["with the view", "empty"])
@pytest.mark.parametrize("reads", READS)
def test_a_mask_on_a_view_over_the_table_of_a_provider_may_cover_the_table(
    reads: str, base: list[Json], tmp_path: Path
) -> None:
    """As if the table were in base_objects_accessed, where a row has what is of this account."""
    theirs = {**OTHER, "accountName": "PROV"}
    provided = {"base_objects_accessed": base, "provider_base_objects_accessed": [of(theirs, "C")]}
    rows = [read(3, VIEW, VIEW, **provided)]
    (tmp_path / "never").mkdir()
    never = asked("unmasked-reads", rows, reads, tmp_path / "never", object_name="D.S.OTHER")
    assert [note for note in never.notes if note.endswith(": D.S.V.C.")]
    of_agents = asked("agent-reads", [*rows, read(4, theirs, theirs)], reads, tmp_path)
    for answer in (of_agents, ask(load(tmp_path / "out"), find("unmasked-reads"), {})):
        assert [note for note in answer.notes if note.startswith(MAY) and "D.S.V.C in" in note]


def copy(*masked_things: Json, direct: Json = TABLE) -> Json:
    """Column C of the table into that of OTHER, perhaps through a view."""
    written = {"columnName": "C", "directSources": [{**direct, "columnName": "C"}],
               "baseSources": [{**TABLE, "columnName": "C"}]}  # fmt: skip
    return read(2, direct, *masked_things, base=TABLE, objects_modified=[{**OTHER, "columns": [written]}])


READ_MASKED: Final = "Queries that read some of these copies"
WRITTEN_MASKED: Final = "Queries that wrote enforced a masking policy"
COPIES: Final = {
    "read with a mask by its name alone": ([copy(TABLE), read(3, OTHER, {**OTHER, "objectId": None})], READ_MASKED),
    "read through a masked view": ([copy(TABLE), read(3, VIEW, VIEW, base=OTHER)], READ_MASKED),
    "read beside what is masked": (
        [copy(TABLE), read(3, OTHER, TABLE, direct_objects_accessed=[of(OTHER, "C"), of(TABLE, "C")],
                           base_objects_accessed=[of(OTHER, "C"), of(TABLE, "C")])],
        None,
    ),
    "read unmasked": ([copy(TABLE), read(3, OTHER)], None),
    "made with a mask between the view and the table": ([copy(BETWEEN, direct=VIEW), read(3, OTHER)], WRITTEN_MASKED),
    "made with a mask by its name alone": ([copy(NO_ID), read(3, OTHER)], WRITTEN_MASKED),
    "made with a mask on the view": ([copy(VIEW, direct=VIEW), read(3, OTHER)], None),
}  # fmt: skip


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("where", COPIES)
def test_a_mask_on_the_same_data_as_a_copy_is_told(where: str, reads: str, tmp_path: Path) -> None:
    """View, "policies_referenced": on what was read, and on intermediate objects, which rows name nowhere else."""
    rows, told = COPIES[where]
    answer = asked("unmasked-copies", rows, reads, tmp_path)
    assert {(row["target_object_name"], row["target_column_name"]) for row in answer.dicts()} == {("D.S.OTHER", "C")}
    beside = [note for note in answer.notes if note.startswith((READ_MASKED, WRITTEN_MASKED))]
    assert len(beside) == bool(told)
    assert all(note.startswith(str(told)) for note in beside)
