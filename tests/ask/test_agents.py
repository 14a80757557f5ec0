"""``agent-reads``: which software agents read what, for whom, and whether it was masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import Graph
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
CORTEX: Final = {"agentType": "CORTEX_AGENT", "agentId": 910, "agentName": "D.S.HELPER"}
LITE: Final = {"agentType": "CORTEX_LITE_AGENT", "agentId": 911, "agentName": None}
EXTERNAL: Final = {"agentType": "EXTERNAL_AGENT", "agentId": None, "agentName": None}
TABLE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.PEOPLE"}
VIEW: Final = {"objectDomain": "View", "objectId": 2, "objectName": "D.S.V"}
STAGE: Final = {"objectDomain": "Stage", "objectId": 3, "objectName": "D.S.FILES"}
POLICY: Final = {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}


def of(thing: Json, *columns: str) -> Json:
    return {**thing, "columns": [{"columnName": column} for column in columns]}


def masked(*columns: str) -> list[Json]:
    return [{**TABLE, "columns": [{"columnName": column, "policies": [POLICY]} for column in columns]}]


def read(day: int, direct: list[Json], base: list[Json] | None = None, **others: Any) -> Json:
    return {
        "query_id": f"q{day}",
        "query_start_time": f"2026-03-{day:02}T06:00:00.000Z",
        "user_name": "ANA",
        "direct_objects_accessed": direct,
        "base_objects_accessed": direct if base is None else base,
        **others,
    }


ROWS: Final = [
    read(1, [of(TABLE, "NAME", "MAIL")], agents_info=[CORTEX], policies_referenced=masked("MAIL")),
    read(2, [of(VIEW, "M")], [of(TABLE, "MAIL")], agents_info=[CORTEX], policies_referenced=masked("MAIL")),
    read(3, [of(VIEW, "N")], [of(TABLE, "NAME")], agents_info=[EXTERNAL, LITE]),
    read(4, [STAGE], agents_info=[EXTERNAL]),
    read(5, [of(TABLE, "MAIL")], agents_info=[CORTEX], policies_referenced=[{**TABLE, "objectName": "TRUNCATED"}]),
    read(6, [of(TABLE, "MAIL")]),
    read(7, [of(TABLE, "MAIL")], agents_info=[{"agentType": None, "agentId": None, "agentName": None}]),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("agents"), ROWS)


def exported(folder: Path, rows: list[Json], *options: str) -> Path:
    given = [exports.ndjson(rows, folder / "rows.ndjson")]
    assert exports.export(given, folder / "out", "--outputs", "graph", "--account", "ACME-PROD", *options) == 0
    return folder / "out"


def asked(graph: Path, **given: str) -> Answer:
    with Graph(graph) as opened:
        return opened.ask("agent-reads", **given)


def test_each_agent_with_each_column_that_its_query_read(out: Path) -> None:
    found = {(row[1], row[0], *row[2:4], *row[5:]) for row in asked(out).rows}
    assert found == {
        ("CORTEX_AGENT", "D.S.HELPER", "ANA", "q1", "D.S.PEOPLE", "NAME", "CLEAR"),
        ("CORTEX_AGENT", "D.S.HELPER", "ANA", "q1", "D.S.PEOPLE", "MAIL", "MASKED"),
        ("CORTEX_AGENT", "D.S.HELPER", "ANA", "q2", "D.S.PEOPLE", "MAIL", "MASKED"),
        # No row shows which column of the table is behind M: whether it was masked is not known.
        ("CORTEX_AGENT", "D.S.HELPER", "ANA", "q2", "D.S.V", "M", None),
        # Nothing was masked in this query, so nothing behind the view was.
        ("EXTERNAL_AGENT", None, "ANA", "q3", "D.S.V", "N", "CLEAR"),
        ("CORTEX_LITE_AGENT", None, "ANA", "q3", "D.S.V", "N", "CLEAR"),
        ("EXTERNAL_AGENT", None, "ANA", "q3", "D.S.PEOPLE", "NAME", "CLEAR"),
        ("CORTEX_LITE_AGENT", None, "ANA", "q3", "D.S.PEOPLE", "NAME", "CLEAR"),
        ("EXTERNAL_AGENT", None, "ANA", "q4", "D.S.FILES", None, None),
        # Its policies were cut from the record.
        ("CORTEX_AGENT", "D.S.HELPER", "ANA", "q5", "D.S.PEOPLE", "MAIL", None),
    }


def test_a_column_of_a_view_has_the_mask_of_the_column_that_it_shows(tmp_path: Path) -> None:
    copy = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.COPY"}
    column = {
        "columnName": "C",
        "directSources": [{**VIEW, "columnName": "M"}],
        "baseSources": [{**TABLE, "columnName": "MAIL"}],
    }
    shows = read(8, [of(VIEW, "M")], [of(TABLE, "MAIL")], objects_modified=[{**copy, "columns": [column]}])
    found = {row[3:4] + row[5:] for row in asked(exported(tmp_path, [*ROWS, shows])).rows}
    assert {row for row in found if row[1] == "D.S.V"} == {
        ("q2", "D.S.V", "M", "MASKED"),
        ("q3", "D.S.V", "N", "CLEAR"),
    }


COPIED: Final = {
    "objectDomain": "Table",
    "objectId": 5,
    "objectName": "D.S.COPY",
    "columns": [
        {
            "columnName": "C",
            "directSources": [{**VIEW, "columnName": "M"}],
            "baseSources": [{**TABLE, "columnName": "MAIL"}],
        }
    ],
}
"""Shows that MAIL is behind M."""


def changed(day: int, thing: Json, operation: str, columns: Json) -> Json:
    change = {**thing, "operationType": operation, "properties": {"columns": columns}}
    return read(day, [], object_modified_by_ddl=change)


@pytest.mark.parametrize("is_replaced", [True, False], ids=["replaced", "renamed alone"])
def test_what_a_view_showed_before_says_nothing_of_a_mask_now(tmp_path: Path, *, is_replaced: bool) -> None:
    """The column behind it was renamed, and is masked under its new name: whether M shows that one is not known."""
    rows = [
        read(8, [of(VIEW, "M")], [of(TABLE, "MAIL")], objects_modified=[COPIED]),
        changed(9, TABLE, "ALTER", {"MAIL": {"objectName": "POST", "subOperationType": "RENAME"}}),
        *([changed(10, VIEW, "REPLACE", {"M": {"subOperationType": "ADD"}})] if is_replaced else []),
        read(11, [of(VIEW, "M")], [of(TABLE, "POST")], agents_info=[CORTEX], policies_referenced=masked("POST")),
    ]
    found = {row[3:4] + row[5:] for row in asked(exported(tmp_path, rows)).rows}
    assert found == {("q11", "D.S.PEOPLE", "POST", "MASKED"), ("q11", "D.S.V", "M", None)}


def test_a_column_of_a_view_over_another_column_is_clear(tmp_path: Path) -> None:
    """The query read MAIL through M, and the mask is on NAME."""
    both = [of(TABLE, "MAIL", "NAME")]
    rows = [
        read(8, [of(VIEW, "M")], [of(TABLE, "MAIL")], objects_modified=[COPIED]),
        read(11, [of(VIEW, "M", "N")], both, agents_info=[CORTEX], policies_referenced=masked("NAME")),
    ]
    found = {row[3:4] + row[5:] for row in asked(exported(tmp_path, rows)).rows}
    assert {row for row in found if row[1] == "D.S.V"} == {("q11", "D.S.V", "M", "CLEAR"), ("q11", "D.S.V", "N", None)}


def test_a_mask_on_the_view_itself_hides_nothing_of_its_other_columns(tmp_path: Path) -> None:
    own = [{**VIEW, "columns": [{"columnName": "M", "policies": [POLICY]}]}]
    row = read(1, [of(VIEW, "M", "N")], [of(TABLE, "MAIL", "NAME")], agents_info=[CORTEX], policies_referenced=own)
    found = {row[5:] for row in asked(exported(tmp_path, [row])).rows}
    assert {("D.S.V", "M", "MASKED"), ("D.S.V", "N", "CLEAR")} <= found


@pytest.mark.parametrize(
    ("given", "queries"),
    [
        ({"agent_name": "d.s.helper"}, {"q1", "q2", "q5"}),
        ({"agent_name": "D.S.HELPER", "since": "2026-03-02"}, {"q2", "q5"}),
        ({"since": "2026-03-02", "until": "2026-03-04"}, {"q2", "q3"}),
        ({"agent_name": "D.S.HELPERS"}, set()),
    ],
)
def test_only_what_is_asked_for(out: Path, given: dict[str, str], queries: set[str]) -> None:
    assert {row[3] for row in asked(out, **given).rows} == queries


def test_a_name_that_no_agent_has_is_told_with_the_nearest(out: Path) -> None:
    notes = asked(out, agent_name="D.S.HELPERS").notes
    assert "There is no agent D.S.HELPERS in the graph. The nearest: D.S.HELPER." in notes


def test_an_agent_of_which_the_row_says_nothing_is_told(out: Path) -> None:
    note = "1 query has an agent of which the row gives no type, id or name: the answer lacks it."
    assert note in asked(out).notes
    assert note not in asked(out, until="2026-03-07").notes


@pytest.mark.parametrize(
    "cut",
    [
        {"agentType": "CORTEX_AGENT", "agentId": -1, "agentName": "TRUNCATED"},
        {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"},
    ],
)
def test_agents_that_were_cut_are_told_and_named_by_nothing(cut: Json, tmp_path: Path) -> None:
    out = exported(tmp_path, [read(8, [of(TABLE, "MAIL")], agents_info=[cut])])
    assert exports.report(out)["truncated"] == 1
    for answer in (asked(out), asked(out, agent_name="D.S.HELPER")):
        about = [note for note in answer.notes if "cut by Snowflake (agents_info)" in note]
        assert about == [
            "1 query was cut by Snowflake (agents_info), so the answer may lack what it did; the first is q8."
        ]
        assert not any(note.startswith("No row names an agent") for note in answer.notes)
    assert not any("cut by Snowflake" in note for note in asked(out, until="2026-03-07").notes)
    assert [row[:2] for row in asked(out).rows] == ([(None, "CORTEX_AGENT")] if "agentType" in cut else [])
    assert not any("id/-1" in term for triple in exports.triples(out) for term in map(str, triple))


def test_policies_that_were_cut_are_told(out: Path) -> None:
    assert any("cut by Snowflake (policies_referenced)" in note and "q5" in note for note in asked(out).notes)


def test_an_empty_answer_says_that_no_row_names_an_agent(tmp_path: Path) -> None:
    answer = asked(exported(tmp_path, [ROWS[5]]))
    assert answer.rows == []
    assert [note for note in answer.notes if note.startswith("No row names an agent (agents_info)")]
    assert not [note for note in answer.notes if note.endswith("has what this question asks for.")]


def test_reads_by_day_say_what_they_cannot_tell_apart(tmp_path: Path) -> None:
    """A daily read has the agents of all reads of a user, an object and a day."""
    alone = {**ROWS[0], "query_id": "q1b", "agents_info": None, "policies_referenced": None}
    answer = asked(exported(tmp_path, [ROWS[0], alone], "--reads", "daily"))
    found = {(row[0], row[3], row[6], row[7]) for row in answer.rows}
    assert ("D.S.HELPER", None, "MAIL", "MASKED") in found
    assert any("The user may have done the others alone" in note for note in answer.notes)


def test_what_the_call_of_an_agent_ran_is_told(tmp_path: Path) -> None:
    """The rows of what it ran name no agent: that is known from their root and parent alone."""
    call = {"objectDomain": "Procedure", "objectName": "D.S.LOAD", "argumentSignature": "()", "dataType": "VARCHAR"}
    rows = [
        read(1, [call], agents_info=[CORTEX]),
        read(2, [call], parent_query_id="q1", root_query_id="q1"),
        read(3, [of(TABLE, "MAIL")], parent_query_id="q2", root_query_id="q1"),
        read(4, [of(TABLE, "MAIL")], parent_query_id="q1", root_query_id="q1", agents_info=[CORTEX]),
        read(5, [of(TABLE, "MAIL")]),
    ]
    graph = exported(tmp_path, rows)
    (note,) = [note for note in asked(graph).notes if note.startswith("Within queries of agents")]
    assert "whose own rows name no agent: queries q2, q3. The answer lacks what they read" in note
    assert "statements-of-request with query_id=q1, q2 lists them" in note
    for given in ({"until": "2026-03-02T00:00:00Z"}, {"agent_name": "D.S.OTHER"}):
        assert not any("Within queries" in note for note in asked(graph, **given).notes)


CALLED: Final = {
    "objectDomain": "Procedure", "objectName": "D.S.LOAD", "argumentSignature": "()", "dataType": "VARCHAR",
}  # fmt: skip


@pytest.mark.parametrize("called", [[CALLED], []], ids=["call", "request of several statements"])
@pytest.mark.parametrize("reads", ["full", "daily"])
def test_what_the_call_of_an_agent_read_is_not_among_reads_by_day(
    tmp_path: Path, reads: str, called: list[Json]
) -> None:
    """It only read, so it has no node: the note is about the CALL. Nobody knows how long that took."""
    rows = [
        read(1, [of(TABLE, "MAIL")], agents_info=[CORTEX]),
        read(2, called),
        read(4, called, agents_info=[CORTEX]),
        read(5, [of(TABLE, "MAIL")], parent_query_id="q4", root_query_id="q4"),
    ]
    graph = exported(tmp_path, rows, "--reads", reads)
    said = "what ran within a CALL, block or request of an agent, only read something, and does not name the agent"
    for given, is_told in (
        ({}, True),
        ({"agent_name": "D.S.HELPER"}, True),
        ({"agent_name": "D.S.OTHER"}, False),
        ({"until": "2026-03-03"}, False),
        ({"since": "2026-03-05"}, True),
        ({"since": "2026-03-07"}, False),
    ):
        notes = [note for note in asked(graph, **given).notes if said in note]
        assert [": query q4. " in note for note in notes] == [True] * (is_told and reads == "daily"), given


WRITTEN: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.W"}


@pytest.mark.parametrize(
    ("told", "is_told"),
    [
        ({"parent_query_id": "q1", "root_query_id": "q1"}, True),
        ({"root_query_id": "q1"}, True),
        ({"parent_query_id": "q1", "root_query_id": "q1", "agents_info": [CORTEX]}, False),
        ({"parent_query_id": "q1", "root_query_id": "q1", "user_name": "BEN"}, False),
        ({"parent_query_id": "q0", "root_query_id": "q0", "query_start_time": "2026-03-01T05:00:00Z"}, False),
        ({"parent_query_id": "q0", "root_query_id": "q0", "query_start_time": "2026-03-05T05:00:00Z"}, False),
        ({}, False),
    ],
    ids=["parent", "root alone", "of an agent itself", "another user", "before", "long after", "of none"],
)
def test_what_ran_within_a_query_of_an_agent_that_only_read_is_told(
    tmp_path: Path, told: Json, *, is_told: bool
) -> None:
    """By day such a query has no node, so that rows only show that something ran within a query of the user."""
    rows = [
        read(1, [of(TABLE, "MAIL")], agents_info=[CORTEX]),
        {**read(2, [of(TABLE, "MAIL")], objects_modified=[WRITTEN]), **told},
    ]
    graph = exported(tmp_path, rows, "--reads", "daily")
    for given, is_meant in (({}, True), ({"agent_name": "D.S.OTHER"}, False), ({"until": "2026-03-01"}, False)):
        notes = [note for note in asked(graph, **given).notes if "others ran" in note]
        assert ["may be of an agent, others ran: query q2. " in note for note in notes] == [True] * (
            is_told and is_meant
        )


def test_what_only_read_within_such_a_query_is_not_on_record(tmp_path: Path) -> None:
    rows = [
        read(1, [of(TABLE, "MAIL")], agents_info=[CORTEX]),
        read(2, [of(TABLE, "NAME")], parent_query_id="q1", root_query_id="q1"),
    ]
    said = "what ran within them, and does not name the agent itself, is not in the answer"
    for reads in ("full", "daily"):
        graph = exported(tmp_path, rows, "--reads", reads, "--replace")
        assert any(said in note for note in asked(graph).notes) == (reads == "daily")
        assert not any(said in note for note in asked(graph, agent_name="D.S.OTHER").notes)


def test_no_call_of_an_agent_is_told_where_there_is_none(tmp_path: Path) -> None:
    """The CALL names no agent, and what reads for one calls nothing."""
    rows = [read(1, [of(TABLE, "MAIL")], agents_info=[CORTEX]), read(2, [CALLED])]
    graph = exported(tmp_path, rows, "--reads", "daily")
    assert not any("CALL" in note for note in asked(graph).notes)


def test_statements_of_which_the_root_alone_is_known_are_listed_by_another_question(tmp_path: Path) -> None:
    rows = [read(1, [of(TABLE, "MAIL")], agents_info=[CORTEX]), read(2, [of(TABLE, "MAIL")], root_query_id="q1")]
    notes = asked(exported(tmp_path, rows)).notes
    assert any("query q2. The answer lacks what they read; ancestors lists them." in note for note in notes)


# --- agents that are renamed ------------------------------------------------------------------------------------------


def called(name: str, number: int = 910) -> Json:
    return {"agents_info": [{**CORTEX, "agentId": number, "agentName": name}]}


RENAMED: Final = [
    read(1, [of(TABLE, "NAME")], **called("D.S.HELPER")),
    {
        **read(2, []),
        "object_modified_by_ddl": {
            "objectDomain": "Agent",
            "objectId": 910,
            "objectName": "D.S.HELPER",
            "operationType": "ALTER",
            "properties": {"objectName": {"value": "D.S.OTHER"}},
        },
    },
    read(3, [of(TABLE, "NAME")], **called("D.S.OTHER")),
    read(4, [of(TABLE, "NAME")], **called("D.S.HELPER", 920)),
]


def queries(answer: Answer) -> dict[str, str]:
    """Query -> name of the agent."""
    return {row["query_id"] or "": row["agent_name"] or "" for row in answer.dicts()}


def test_an_agent_has_its_name_at_the_time_of_the_query(tmp_path: Path) -> None:
    """Another agent has the former name since."""
    graph = exported(tmp_path, RENAMED)
    assert queries(asked(graph)) == {"q1": "D.S.HELPER", "q3": "D.S.OTHER", "q4": "D.S.HELPER"}
    assert set(queries(asked(graph, agent_name="D.S.HELPER"))) == {"q1", "q4"}
    assert set(queries(asked(graph, agent_name="D.S.OTHER"))) == {"q3"}


@pytest.mark.parametrize("name", ["D.S.BOT", "D.S.BOT2"])
def test_reads_by_day_have_all_names_of_an_agent(name: str, tmp_path: Path) -> None:
    """Before and after the RENAME of one day, one node has both reads."""
    bot = {"objectDomain": "AGENT", "objectId": 53, "objectName": "D.S.BOT"}
    rename = {**bot, "operationType": "ALTER", "properties": {"objectName": {"value": "D.S.BOT2"}}}
    rows = [
        {**read(1, [of(TABLE, "NAME")], agents_info=[{**CORTEX, "agentId": 53, "agentName": "D.S.BOT"}])},
        {**read(1, [], object_modified_by_ddl=rename), "query_id": "q2"},
        {**read(1, [of(TABLE, "NAME")], agents_info=[{**CORTEX, "agentId": 53, "agentName": "D.S.BOT2"}])},
    ]
    for hour, one in enumerate(rows, start=6):
        one |= {"query_id": f"q{hour}", "query_start_time": f"2026-03-01T{hour:02}:00:00.000Z"}
    found = asked(exported(tmp_path, rows, "--reads", "daily"), agent_name=name).rows
    assert [row[0] for row in found] == ["D.S.BOT, D.S.BOT2"]


def test_without_a_rename_on_record_an_agent_has_all_of_its_names(tmp_path: Path) -> None:
    graph = exported(tmp_path, [*RENAMED[:1], *RENAMED[2:]])
    assert queries(asked(graph))["q1"] == queries(asked(graph))["q3"] == "D.S.HELPER, D.S.OTHER"
    assert set(queries(asked(graph, agent_name="D.S.HELPER"))) == {"q1", "q3", "q4"}


def test_a_name_that_an_agent_had_when_it_read_nothing_is_told_with_the_other(tmp_path: Path) -> None:
    graph = exported(tmp_path, RENAMED[1:3])
    told = "\n".join(asked(graph, agent_name="D.S.HELPER").notes)
    assert "D.S.HELPER is another name of D.S.OTHER, and no query has an agent of that name." in told
