"""One story told to an export in several ways: the answers are the same, or a note says what they lack."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter import Graph, UsageError, export
from tests.aggregates import calls

Row = dict[str, Any]


def accessed(name: str, number: int, columns: list[str], domain: str = "Table") -> Row:
    """An object as the arrays of accesses have it."""
    return {
        "objectDomain": domain,
        "objectId": number,
        "objectName": name,
        "columns": [{"columnName": column} for column in columns],
    }


def filled(name: str, number: int, column: str, direct: Row, base: Row, domain: str = "Table") -> Row:
    """An object that was written, with a column and the objects that it came from, by their first column."""
    return {
        "objectDomain": domain,
        "objectId": number,
        "objectName": name,
        "columns": [{"columnName": column, "directSources": [source(direct)], "baseSources": [source(base)]}],
    }


def source(one: Row) -> Row:
    """An object and its first column, as the sources of a column name them."""
    return {
        "objectDomain": one["objectDomain"],
        "objectId": one["objectId"],
        "objectName": one["objectName"],
        "columnName": one["columns"][0]["columnName"],
    }


def masked(name: str, number: int, column: str) -> Row:
    """A column of a table on which a masking policy was enforced."""
    policy = {"policyName": "G.P.MASK", "policyId": 9001, "policyKind": "MASKING_POLICY"}
    return {
        "objectDomain": "Table",
        "objectId": number,
        "objectName": name,
        "columns": [{"columnName": column, "policies": [policy]}],
    }


def row(query_id: str, time: str, user: str, direct: list[Row] | None = None, **others: Any) -> Row:
    """A row of ACCESS_HISTORY; what it names is also what is behind it, unless `base` says otherwise."""
    return {
        "query_id": query_id,
        "query_start_time": f"2026-09-{time}:00.000 +0000",
        "user_name": user,
        "direct_objects_accessed": direct or [],
        "base_objects_accessed": others.pop("base", direct or []),
        "objects_modified": others.pop("modified", []),
        **others,
    }


def change(operation: str, domain: str, name: str, number: int, **properties: Any) -> Row:
    """A DDL change."""
    return {
        "objectDomain": domain,
        "objectName": name,
        "objectId": number,
        "operationType": operation,
        "properties": {key: {"value": value} for key, value in properties.items()},
    }


def exported(folder: Path, rows: list[Row], **settings: Any) -> Path:
    """The output of an export of these rows."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    given = folder.with_suffix(".ndjson")
    given.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    export(str(given), str(folder), engine="local", account="ACME-TEST", **settings)
    return folder


def asked(folder: Path, question: str, **parameters: Any) -> tuple[list[tuple[str | None, ...]], str]:
    """The rows of an answer and its notes."""
    with Graph(str(folder)) as graph:
        answer = graph.ask(question, **parameters)
    return [tuple(one) for one in answer.rows], "\n".join(answer.notes)


TABLE = accessed("D.S.A", 81, ["C"])
AGENT = [{"agentType": "CORTEX_AGENT", "agentId": 58, "agentName": "D.S.AGENT"}]


def view(domain: str, name: str = "D.S.V", number: int = 55) -> Row:
    return accessed(name, number, ["M"], domain)


def over(domain: str) -> list[Row]:
    """A view over a table: a copy shows which column it shows, then an agent reads it, masked or not."""
    return [
        row(
            "q1",
            "01 08:00",
            "LOAD",
            [accessed("D.S.R", 80, ["C"])],
            modified=[filled("D.S.A", 81, "C", accessed("D.S.R", 80, ["C"]), accessed("D.S.R", 80, ["C"]))],
        ),
        row(
            "q2",
            "02 08:00",
            "CARL",
            [view(domain)],
            base=[TABLE],
            modified=[filled("D.S.O", 82, "M", view(domain), TABLE)],
        ),
        row(
            "q3",
            "03 08:00",
            "BOT",
            [view(domain)],
            base=[TABLE],
            policies_referenced=[masked("D.S.A", 81, "C")],
            agents_info=AGENT,
        ),
        row("q4", "04 08:00", "BOT", [view(domain)], base=[TABLE], agents_info=AGENT),
        row("q5", "05 08:00", "BOT", [view(domain)], base=[TABLE], agents_info=AGENT),
        row(
            "q6",
            "05 09:00",
            "BOT",
            [view(domain)],
            base=[TABLE],
            policies_referenced=[masked("D.S.A", 81, "C")],
            agents_info=AGENT,
        ),
        row(
            "q7",
            "06 08:00",
            "BOT",
            [view(domain, "D.S.W", 56)],
            base=[TABLE],
            policies_referenced=[masked("D.S.A", 81, "C")],
            agents_info=AGENT,
        ),
    ]


@pytest.mark.parametrize("domain", ["View", "SEMANTIC VIEW"])
def test_what_an_agent_read_through_a_view_is_never_clear_where_it_was_masked(tmp_path: Path, domain: str) -> None:
    """docs/questions.md, agent-reads: MASKED also for a view's column that shows the masked one; empty if not known."""
    full, _ = asked(exported(tmp_path / "full", over(domain)), "agent-reads")
    masks = {(one[3], one[5]): one[7] for one in full}
    assert masks["q3", "D.S.V"] == "MASKED"
    assert masks["q4", "D.S.V"] == "CLEAR"
    assert (masks["q5", "D.S.V"], masks["q6", "D.S.V"]) == ("CLEAR", "MASKED")
    assert masks["q7", "D.S.W"] is None

    daily, _ = asked(exported(tmp_path / "daily", over(domain), reads="daily"), "agent-reads")
    by_day = {(str(one[4])[8:10], one[5]): one[7] for one in daily if one[5] != "D.S.A"}
    # On the 5th the view was read both masked and unmasked, and a row stands for both.
    assert by_day == {("03", "D.S.V"): "MASKED", ("04", "D.S.V"): "CLEAR", ("05", "D.S.V"): None, ("06", "D.S.W"): None}


def test_a_mask_on_the_same_name_without_an_id_is_not_called_clear(tmp_path: Path) -> None:
    """Whether it is the same object is not known: the cell is empty."""
    enforced = masked("D.S.A", 81, "C") | {"objectId": None}
    rows = [row("q1", "01 08:00", "BOT", [TABLE], policies_referenced=[enforced], agents_info=AGENT)]
    assert [one[7] for one in asked(exported(tmp_path / "full", rows), "agent-reads")[0]] == [None]


@pytest.mark.parametrize("domain", ["View", "SEMANTIC VIEW"])
def test_lineage_goes_through_a_semantic_view_as_through_any_other(tmp_path: Path, domain: str) -> None:
    """docs/graph.md, Views and streams: a query that reads nothing but the view shows what is behind it."""
    folder = exported(tmp_path / "full", over(domain))
    assert [one[0] for one in asked(folder, "lineage-as-of", object_name="D.S.V", at="2026-09-04")[0]] == [
        "D.S.A",
        "D.S.R",
    ]
    assert [one[0] for one in asked(folder, "root-cause", object_name="D.S.V", column_name="M")[0]] == [
        "D.S.A",
        "D.S.R",
    ]
    assert "D.S.V" in [one[0] for one in asked(folder, "end-up", object_name="D.S.R")[0]]


def test_reads_by_day_say_which_views_an_answer_of_end_up_lacks(tmp_path: Path) -> None:
    """docs/questions.md: a note names views over what the data went to that are not in the answer."""
    rows = [one for one in over("View") if one["query_id"] in ("q1", "q7")]
    full, _ = asked(exported(tmp_path / "full", rows), "end-up", object_name="D.S.R")
    assert [one[0] for one in full] == ["D.S.A", "D.S.W"]
    daily, notes = asked(exported(tmp_path / "daily", rows, reads="daily"), "end-up", object_name="D.S.R")
    assert [one[0] for one in daily] == ["D.S.A"]
    assert "D.S.W" in notes


def test_an_export_without_a_graph_answers_no_question(tmp_path: Path) -> None:
    """It would say of every object that there is none, and pass every check by --fail-on-rows."""
    folder = exported(tmp_path / "events", over("View"), outputs=["events"])
    with pytest.raises(UsageError, match="graph"):
        asked(folder, "who-accessed", object_name="D.S.V")


def test_rows_that_an_earlier_update_quarantined_are_in_a_note(tmp_path: Path) -> None:
    """docs/questions.md: rows are in quarantine. They stay there, whatever the last run did."""
    unread = row("q9", "01 09:00", "EVE", [TABLE]) | {"query_start_time": "yesterday"}
    exported(tmp_path / "updated", [row("q8", "01 08:00", "BEN", [TABLE]), unread], update=True)
    folder = exported(tmp_path / "updated", [row("q10", "02 08:00", "BEN", [TABLE])], update=True)
    answer, notes = asked(folder, "who-accessed", object_name="D.S.A")
    assert answer == [("BEN",)]
    assert "1 row" in notes
    assert "quarantine" in notes


def test_of_two_names_of_an_id_in_one_query_both_are_found(tmp_path: Path) -> None:
    """docs/input.md, "How a name or an id becomes a key": the last is the present one; a note says so of the others."""
    folder = exported(tmp_path / "out", [row("q8", "01 08:00", "BEN", [TABLE, {**TABLE, "objectName": "D.S.OTHER"}])])
    assert asked(folder, "who-accessed", object_name="D.S.OTHER")[0] == [("BEN",)]
    answer, notes = asked(folder, "who-accessed", object_name="D.S.A")
    assert answer == []
    assert "is called D.S.OTHER now" in notes


@pytest.mark.parametrize("why", ["users", "shape"])
def test_queries_that_an_earlier_update_quarantined_are_in_a_note(why: str, tmp_path: Path) -> None:
    """docs/questions.md: SHACL refused queries, in this run or in an earlier update. Rows that contradict each other
    (docs/input.md, "Quarantine") are lacking in the same way, also the one that an earlier run exported.
    """
    ben = row("q8", "01 08:00", "BEN", [TABLE])
    other = ben | {"user_name": "EVE"} if why == "users" else ben | {"query_id": "q9", "parent_query_id": "q9"}
    given = ([row("q7", "01 07:00", "BEN", [TABLE]), ben], [other, row("q10", "01 09:00", "IDA", [TABLE])])
    for rows in (*given, [row("q11", "01 10:00", "IDA", [TABLE])]):
        folder = exported(tmp_path / "updated", rows, update=True)
    answer, notes = asked(folder, "who-accessed", object_name="D.S.A")
    assert answer == [("BEN",), ("IDA",)]
    assert ("2 rows of all runs are in quarantine; answers lack them" if why == "users" else "1 row of") in notes


def test_what_the_filter_of_an_earlier_update_left_out_is_in_a_note(tmp_path: Path) -> None:
    """docs/questions.md: settings leave out rows. What they left out is lacking, whatever the last run was given."""
    early, late = row("q8", "01 08:00", "BEN", [TABLE]), row("q9", "03 08:00", "EVE", [TABLE])
    exported(tmp_path / "updated", [early, late], update=True, since="2026-09-02")
    folder = exported(tmp_path / "updated", [row("q10", "04 08:00", "IDA", [TABLE])], update=True)
    answer, notes = asked(folder, "who-accessed", object_name="D.S.A")
    assert answer == [("EVE",), ("IDA",)]
    assert "Settings of earlier runs left out rows or objects: since." in notes
    folder = exported(tmp_path / "nothing", [late], update=True, since="2026-09-02")
    folder = exported(tmp_path / "nothing", [row("q10", "04 08:00", "IDA", [TABLE])], update=True)
    assert "left out" not in asked(folder, "who-accessed", object_name="D.S.A")[1], "the filter left out nothing"


@pytest.mark.parametrize("how", ["forget_user", "forget_before"])
def test_what_an_update_forgot_is_in_a_note(how: str, tmp_path: Path) -> None:
    """docs/updates.md, "Forgetting": whatever later runs do. Rows that were in quarantine before are lacking, too."""
    unread = row("q7", "01 09:00", "KIM", [TABLE]) | {"query_start_time": "yesterday"}
    first = [row("q8", "01 08:00", "BEN", [TABLE]), row("q9", "03 08:00", "EVE", [TABLE]), unread]
    exported(tmp_path / "out", first, update=True)
    forgetting = {"forget_user": "BEN"} if how == "forget_user" else {"forget_before": "2026-09-02"}
    for number, options in ((10, forgetting), (11, {})):
        late = row(f"q{number}", f"{number} 08:00", "IDA", [TABLE])
        folder = exported(tmp_path / "out", [late], update=True, **options)
        _, notes = asked(folder, "unused-objects", since="2026-09-01")
        assert (
            "This export forgot 1 query (--forget-user or --forget-before), and removed 1 row of earlier runs from "
            "quarantine: answers lack what no later run exported"
        ) in notes
        assert "BEN" not in notes


@pytest.mark.parametrize("is_update", [False, True])
def test_calls_that_are_among_the_reads_by_day_are_in_a_note(tmp_path: Path, *, is_update: bool) -> None:
    """As with single reads: the graph does not say which of the reads are added up, and from which interval."""
    aggregates = tmp_path / "calls.ndjson"
    aggregates.write_text(json.dumps(calls("2026-09-01T23:58", "BEN", "h", 40, [TABLE], minutes=5)))
    rows, daily = [row("q8", "01 08:00", "BEN", [TABLE])], {"reads": "daily", "update": is_update}
    folder = exported(tmp_path / "out", rows, aggregate=str(aggregates), **daily)
    if is_update:
        folder = exported(tmp_path / "out", [row("q9", "02 08:00", "BEN", [TABLE])], **daily)
    said = "Reads of AGGREGATE_ACCESS_HISTORY are among the reads by day"
    assert said in asked(folder, "unused-objects", since="2026-09-02")[1]
    folder = exported(tmp_path / "without", rows, **daily)
    assert said not in asked(folder, "unused-objects", since="2026-09-02")[1]


def test_a_user_is_not_missed_in_silence_where_users_have_pseudonyms(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    folder = exported(tmp_path / "pseudonyms", [row("q8", "01 08:00", "BEN", [TABLE])], pseudonyms=str(key))
    answer, notes = asked(folder, "user-history", user_name="BEN")
    assert answer == []
    assert "pseudonym" in notes


def test_a_helper_is_one_though_a_user_has_a_part_of_its_name(tmp_path: Path) -> None:
    """docs/openlineage.md, Helpers: a name that matches a pattern. The user DBT has a pseudonym there, too."""
    loaded, helper = accessed("D.S.R", 80, ["C"]), accessed("D.S.F__DBT_TMP", 81, ["C"])
    rows = [
        row(
            "q1",
            "01 08:00",
            "DBT",
            [loaded],
            modified=[filled("D.S.F__DBT_TMP", 81, "C", loaded, loaded)],
            object_modified_by_ddl=change("CREATE", "Table", "D.S.F__DBT_TMP", 81),
        ),
        row("q2", "01 08:01", "DBT", [helper], modified=[filled("D.S.F", 82, "C", helper, helper)]),
        row("q3", "01 08:02", "DBT", object_modified_by_ddl=change("DROP", "Table", "D.S.F__DBT_TMP", 81)),
    ]
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    plain = exported(tmp_path / "plain", rows)
    hidden = exported(tmp_path / "hidden", rows, pseudonyms=str(key))
    expected = [("80", "D.S.R", "C", kind, "D.S.F", "C") for kind in ("BASE", "DIRECT")]
    assert asked(plain, "column-lineage", helpers="bridged")[0] == expected
    assert asked(hidden, "column-lineage", helpers="bridged")[0] == expected


def test_a_note_on_an_empty_answer_names_the_time_that_was_asked_for(tmp_path: Path) -> None:
    folder = exported(tmp_path / "full", over("View"))
    answer, notes = asked(folder, "who-accessed", object_name="D.S.O", since="2026-09-04")
    assert answer == []
    assert "from 2026-09-04T00:00:00Z to 2026-09-06T08:00:00Z" in notes


def test_what_went_with_its_schema_was_dropped(tmp_path: Path) -> None:
    """docs/graph.md, DROP of schemas: from the DROP to the UNDROP it is dropped; the answer says why it is empty."""
    loaded = accessed("D.R.R", 80, ["C"])
    rows = [
        row("q1", "01 08:00", "LOAD", [loaded], modified=[filled("D.S.A", 81, "C", loaded, loaded)]),
        row("q2", "04 09:00", "DBA", object_modified_by_ddl=change("DROP", "Schema", "D.S", 91)),
        row("q3", "05 09:00", "DBA", object_modified_by_ddl=change("UNDROP", "Schema", "D.S", 91)),
    ]
    folder = exported(tmp_path / "full", rows)
    answer, notes = asked(folder, "lineage-as-of", object_name="D.S.A", at="2026-09-04T12:00")
    assert answer == []
    assert "D.S.A was dropped at 2026-09-04T09:00:00Z (query q2)" in notes
    assert asked(folder, "lineage-as-of", object_name="D.S.A", at="2026-09-05T12:00")[0]


def on_column(column: str, kind: str, name: str, operation: str, **more: Row) -> Row:
    """A masking policy or a tag that is set on a column of D.S.A, or unset from it."""
    element = {"objectId": {"value": 9001}, "subOperationType": operation, **more}
    return {
        "objectDomain": "Table",
        "objectName": "D.S.A",
        "objectId": 81,
        "operationType": "ALTER",
        "properties": {
            "columns": {column: {"objectId": {"value": 1}, "subOperationType": "ALTER", kind: {name: element}}}
        },
    }


@pytest.mark.parametrize("in_ddl", ["EMAIL", "email"])
def test_a_column_in_two_letter_cases_is_in_a_note(tmp_path: Path, in_ddl: str) -> None:
    """Snowflake's page of the view writes a column of DDL in lower case. What is set on it is not followed to EMAIL."""
    table = accessed("D.S.A", 81, ["EMAIL"])
    rows = [
        row("q1", "01 08:00", "BEN", [table]),
        row("q2", "02 08:00", "DBA", object_modified_by_ddl=on_column(in_ddl, "maskingPolicies", "G.P.MASK", "ADD")),
        row(
            "q3",
            "02 09:00",
            "DBA",
            object_modified_by_ddl=on_column(in_ddl, "tags", "G.T.PII", "ADD", tagValue={"value": "x"}),
        ),
        row("q4", "03 08:00", "CARL", [table], modified=[filled("D.S.B", 82, "EMAIL", table, table)]),
        row("q5", "04 08:00", "DBA", object_modified_by_ddl=on_column("EMAIL", "maskingPolicies", "G.P.MASK", "DROP")),
        row("q6", "05 08:00", "EVE", [table]),
        row("q7", "06 08:00", "DBA", object_modified_by_ddl=on_column("EMAIL", "tags", "G.T.PII", "DROP")),
    ]
    folder = exported(tmp_path / "full", rows)
    for question, given in (("unmasked-reads", {}), ("policy-coverage", {}), ("tag-reach", {"at": "2026-09-05"})):
        assert ("EMAIL and email of D.S.A" in asked(folder, question, **given)[1]) == (in_ddl == "email")
