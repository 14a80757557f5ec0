"""The tools: their schemas, and the same answers and notes as the command gives."""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from jsonschema import Draft202012Validator

from exporter import cli
from exporter.ask.answers import Answer
from exporter.ask.notes.clones import INFERRED
from exporter.ask.shipped import find, questions
from exporter.mcp.graph import LONGEST_CELL
from exporter.mcp.server import INSTRUCTIONS, tools
from exporter.mcp.tool import LARGEST, MOST_ROWS, page
from exporter.serve.site import CUT
from exporter.system.terminal import message
from tests import exports
from tests.ask.lineage_graphs import graph_of
from tests.ask.test_clones import A, cloned, table
from tests.ask.test_names import read
from tests.ask.test_questions import SOME
from tests.mcp.asked import MODES, asked, whole
from tests.pages import EXAMPLE, ROOT, commands

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.asked import Asked

QUERIES: Final = [
    one
    for one in commands(ROOT / "docs" / "questions.md")
    if one.arguments[0] == "query" and "--sql" not in one.arguments
]
"""The commands of the page of questions that print rows, with each question at least once."""
ENDLESS: Final = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


# --- what the assistant is told ---------------------------------------------------------------------------------------


def test_each_question_is_a_tool_with_its_parameters() -> None:
    known = tools()
    for question in questions():
        tool = known[question.name]
        assert list(tool.properties) == [*(one.name for one in question.parameters), "limit", "offset"]
        assert question.asks in tool.description
        assert all(column in tool.description for column in question.columns)
        for one in question.parameters:
            described = tool.properties[one.name]["description"]
            assert one.text.rstrip(".")[1:] in described
            assert ("a day alone means its beginning" in described) == (one.kind == "time")
    assert "the end of this day" in known["lineage"].properties["at"]["description"]


def test_what_is_needed_is_required_unless_something_can_be_in_its_place() -> None:
    required = {name: set(tool.required) for name, tool in tools().items()}
    assert required["unused-objects"] == {"since"}
    assert required["root-cause"] == {"column_name"}, "object_name or object_id"
    assert required["user-history"] == set()


@pytest.mark.parametrize("tool", tools().values(), ids=lambda tool: tool.name)
def test_schemas_are_such_that_all_clients_take_them(tool) -> None:
    for schema in (tool.schema, tool.output):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys()
    assert tool.name.isascii()
    assert len(tool.name) <= 64
    assert tool.name.replace("-", "").isalnum()


def test_the_list_of_tools_is_small() -> None:
    """An assistant reads it in each conversation. Some clients take 40 tools at most."""
    known = tools().values()
    assert len(known) <= 40
    assert sum(len(json.dumps([one.name, one.description, one.schema])) for one in known) < 45_000


@pytest.mark.parametrize("mode", MODES)
def test_old_and_new_clients_are_answered(month: Asked, mode: str) -> None:
    (result,) = month.all_results([("who-accessed", {"object_name": "SANDBOX.MARIA.CUSTOMER_EMAILS"})], mode)
    assert result.structured_content["rows"] == [["JONAS_SCIENTIST"], ["MARIA_ANALYST"], ["PRIYA_STEWARD"]]


def test_the_instructions_say_what_cells_are() -> None:
    assert "never to follow" in INSTRUCTIONS
    assert "does not prove" in INSTRUCTIONS


# --- the answers of the command ---------------------------------------------------------------------------------------


def test_the_page_asks_every_question() -> None:
    assert {one.arguments[1] for one in QUERIES} == {question.name for question in questions()}


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("command", QUERIES, ids=lambda one: one.line[:90])
def test_an_answer_has_the_rows_and_the_notes_of_the_command(command, month: Asked, month_graph: Path) -> None:
    words = [str(month_graph) if word == EXAMPLE else word for word in command.arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert cli.main([*words, "--format", "json"]) == 0
    given: dict[str, list[str]] = {}
    for option, value in zip(words[3::2], words[4::2], strict=True):
        given.setdefault(option.removeprefix("--").replace("-", "_"), []).append(value)
    answer = month.answer(words[1], **given, limit=MOST_ROWS)
    assert [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]] == json.loads(out.getvalue())
    assert not answer["truncated"]
    told = [message(whole(note)) for note in answer["notes"]]
    assert told == [line for line in err.getvalue().splitlines() if line]


EMPTY: Final = {
    "column-readers": {"object_name": "NO.SUCH.TABLE", "column_name": "EMAIL"},
    "when-accessed": {"object_name": "SANDBOX.MARIA.CUSTOMER_EMAILS", "since": "2027-01-01"},
    "unmasked-reads": {"object_name": "RAW.SHOP.ORDERS"},
    "exposure": {"object_name": "RAW.CRM.CUSTOMERS"},
    "end-up": {"object_name": "MART.SALES.V_ORDERS"},
    "agent-reads": {"agent_name": "MART.SALES.NOBODY"},
}


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_answer_says_why_as_the_command_does(name: str, month: Asked, month_graph: Path) -> None:
    err = io.StringIO()
    words = [word for key, value in EMPTY[name].items() for word in ("--param", f"{key}={value}")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        assert cli.main(["query", name, "--graph", str(month_graph), *words]) == 0
    answer = month.answer(name, **EMPTY[name])
    assert answer["rows"] == []
    *told, last = [whole(note) for note in answer["notes"]]
    assert "\n".join([*map(message, told), ""]) in err.getvalue().replace("--param ", "")
    assert told
    assert last.startswith("Snowflake does not record everything")


def test_several_values_are_asked_for_at_once(month: Asked) -> None:
    names = ["RAW.CRM.CUSTOMERS", "SANDBOX.MARIA.CUSTOMER_EMAILS"]
    each = [month.rows("who-accessed", object_name=name) for name in names]
    together = month.rows("who-accessed", object_name=names)
    assert {row[0] for row in together} == {row[0] for rows in each for row in rows}


def test_an_id_may_be_a_number(month: Asked) -> None:
    assert month.rows("who-accessed", object_id=2070) == month.rows("who-accessed", object_id="2070") != []


def test_turtle_is_asked_like_an_export(tmp_path: Path) -> None:
    with asked(graph_of(SOME, tmp_path)) as server:
        assert server.rows("former-names", object_name="T2") != []


# --- small answers ----------------------------------------------------------------------------------------------------


def test_all_rows_come_in_parts(month: Asked) -> None:
    everything = month.answer("user-history", limit=MOST_ROWS)
    assert not everything["truncated"]
    assert everything["more"] is None
    parts, offset = [], 0
    while True:
        part = month.answer("user-history", offset=offset)
        parts += part["rows"]
        offset += len(part["rows"])
        if not part["truncated"]:
            break
        assert f"These are rows {offset - 49} to {offset} of {len(everything['rows'])}." in part["more"]
        assert f"offset={offset}" in part["more"]
    assert parts == everything["rows"]


def test_beyond_the_last_row(month: Asked) -> None:
    answer = month.answer("user-history", offset=10_000)
    assert answer["rows"] == []
    assert answer["more"] == "There are 336 rows, and none from offset=10000 on."


def test_more_rows_than_are_counted(month: Asked) -> None:
    answer = month.answer("sparql", query="SELECT * { ?a ?b ?c } LIMIT 2000", limit=3)
    assert answer["more"].startswith("These are rows 1 to 3 of 2,000.")
    many = page(Answer(("a",), [("1",)] * 1_000, [f"There are more.{CUT} N gives more."]), 50, 0)
    assert many["more"] == "These are rows 1 to 50 of more than 1,000. Ask again with offset=50 for the next ones."


def test_rows_that_are_too_large_together_are_left_for_the_next_answer() -> None:
    answer = Answer(("a",), [(f"{number} {'x' * 1_990}",) for number in range(100)])
    first = page(answer, 100, 0)
    shown = len(first["rows"])
    assert sum(map(len, map(json.dumps, first["rows"]))) <= LARGEST
    assert 20 < shown < 40
    assert f"rows 1 to {shown} of 100" in first["more"]
    assert page(answer, 100, shown)["rows"][0] == [*answer.rows[shown]]


def test_a_long_cell_is_cut_and_says_so() -> None:
    answer = page(Answer(("a",), [("x" * 5_000,), ("y" * LONGEST_CELL,)]), 50, 0)
    assert answer["rows"] == [["x" * LONGEST_CELL + "…"], ["y" * LONGEST_CELL]]
    assert answer["truncated"]
    assert answer["more"].startswith("1 cell is cut after 2,000 characters")


# --- things -----------------------------------------------------------------------------------------------------------


def test_answers_and_errors_say_when_a_newer_export_is_in_the_folder(month: Asked, month_graph: Path) -> None:
    """It may have the object that the one which is shown does not have."""
    manifest = month_graph / "manifest.json"
    before = manifest.read_text("utf-8")
    for text, is_newer in ((before, False), (f"{before}\n", True)):
        manifest.write_text(text, "utf-8")
        notes = [note["text"] for note in month.answer("user-history", limit=1)["notes"]]
        assert any("newer export" in note for note in notes) == is_newer
        assert ("newer export" in month.error("object", object_name="NOT.YET.THERE")) == is_newer
    manifest.write_text(before, "utf-8")


def test_what_the_record_covers(month: Asked) -> None:
    answer = month.answer("about")
    told = dict(zip(answer["columns"], answer["rows"][0], strict=True))
    assert (told["first"], told["queries"]) == ("2026-09-01T02:10:01.327Z", "336")


def test_a_search_finds_by_a_part_of_a_name_and_by_an_id(month: Asked) -> None:
    found = {(row[0], row[2]) for row in month.rows("search", text="customer_emails")}
    assert ("Table", "SANDBOX.MARIA.CUSTOMER_EMAILS") in found
    assert [row[2] for row in month.rows("search", text="2070")] == ["SANDBOX.MARIA.CUSTOMER_EMAILS"]
    (note,) = month.notes("search", text="no such thing")
    assert note.startswith("No name of an object, column, user or software agent on record contains this text")


AGENT: Final = {"agentType": "CORTEX_AGENT", "agentId": 910, "agentName": "AI.A.BOT_1"}


def test_a_column_that_is_masked_through_a_tag_has_the_policy_and_an_agent_is_found(tmp_path: Path) -> None:
    tag = {"objectDomain": "TAG", "objectId": 500, "objectName": "G.T.PII", "operationType": "ALTER"}
    mask = {"objectName": "G.P.MASK", "subOperationType": "ADD", "objectId": 600}
    on_column = {"objectName": "C", "tags": [{"objectName": "G.T.PII", "subOperationType": "ADD", "objectId": 500}]}
    own = {name: A[name] for name in ("objectDomain", "objectId", "objectName")}
    told: list[Any] = [
        {**read(A), "agents_info": [AGENT]},
        {"object_modified_by_ddl": {**tag, "properties": {"maskingPolicies": [mask]}}},
        {"object_modified_by_ddl": {**own, "operationType": "ALTER", "properties": {"columns": [on_column]}}},
    ]
    rows = [
        {"user_name": "ETL", **row, "query_id": f"q{day}", "query_start_time": f"2026-01-{day:02} 06:00:00 Z"}
        for day, row in enumerate(told, 1)
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    with asked(tmp_path / "out") as server:
        (part,) = server.answer("object", object_name=A["objectName"], part="columns")["parts"]
        shown = [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
        assert [(row["column_name"], row["tags"], row["policies"]) for row in shown] == [("C", "G.T.PII", "G.P.MASK")]
        for text in ("bot", "910"):
            answer = server.answer("search", text=text)
            found = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
            assert [(row["kind"], row["software_agent"]) for row in found] == [("Software Agent", "AI.A.BOT_1")]


def test_an_object_has_its_parts(month: Asked) -> None:
    answer = month.answer("object", object_name="raw.crm.customers")
    assert answer["object"] == {
        "iri": "snowflake://ACME-RETAIL/table/1029",
        "kind": "Table",
        "object_name": "RAW.CRM.CUSTOMERS",
        "object_id": "1029",
    }
    parts = {part["part"]: part for part in answer["parts"]}
    assert {row[0] for row in parts["columns"]["rows"]} == {"CUSTOMER_ID", "EMAIL", "FULL_NAME", "PHONE", "REGION"}
    assert [row[:2] for row in parts["readers"]["rows"]] == [
        ["DBT_CLOUD", "22"], ["PRIYA_STEWARD", "1"], ["JONAS_SCIENTIST", "2"],
    ]  # fmt: skip
    assert parts["writers"]["rows"]
    by_iri = month.answer("object", iri=answer["object"]["iri"])
    assert by_iri["parts"] == answer["parts"]


def test_what_no_row_shows_of_an_object_is_said(month: Asked) -> None:
    notes = month.notes("object", object_name="RAW.CRM.STORE_VISITS_2019")
    assert "No row from 2026-09-01 to 2026-09-30 shows a read of it." in notes
    assert not any("shows a read of it" in note for note in month.notes("object", object_name="RAW.CRM.CUSTOMERS"))


def test_one_part_of_an_object_with_all_its_rows(month: Asked) -> None:
    several = month.answer("object", object_name="RAW.CRM.CUSTOMERS", limit=1)
    readers = next(part for part in several["parts"] if part["part"] == "readers")
    assert readers["more"] == (
        "These are rows 1 to 1 of 3. Ask again with offset=1 for the next ones. Name the part, too: part=readers."
    )
    (rest,) = month.answer("object", object_name="RAW.CRM.CUSTOMERS", part="readers", offset=1)["parts"]
    assert [row[0] for row in rest["rows"]] == ["PRIYA_STEWARD", "JONAS_SCIENTIST"]


def test_a_query_has_its_facts(month: Asked) -> None:
    answer = month.answer("query", query_id="01bf0911-1400-6e2c-0200-dd20f12a9777", limit=50)
    parts = {part["part"]: part["rows"] for part in answer["parts"]}
    assert ["user_name", "MARIA_ANALYST"] in parts["facts"]
    assert ["ah:roleName", "MARKETING"] in parts["facts"]
    assert {row[0] for row in parts["wrote"]} == {"MART.MARKETING.CAMPAIGN_AUDIENCE"}


def test_a_query_and_an_object_say_what_is_inferred_from_a_clone(tmp_path: Path) -> None:
    """The row of a CLONE of a database names no table and no column."""
    told = [read(A), cloned("D", "D2", 71), read(table("D2.S.A", 53))]
    rows = [
        {"user_name": "ETL", **row, "query_id": f"q{day}", "query_start_time": f"2026-01-{day:02} 06:00:00 Z"}
        for day, row in enumerate(told, 1)
    ]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    with asked(tmp_path / "out") as server:
        query = server.answer("query", query_id="q2")
        answers = [query, server.answer("object", object_name="D2.S.A"), server.answer("column-lineage")]
    for answer in answers:
        assert any(note["text"].startswith(INFERRED) for note in answer["notes"])
    (filled,) = (part["rows"] for part in query["parts"] if part["part"] == "filled")
    assert [row[3] for row in filled] == ["INFERRED"]


def test_lineage_goes_step_by_step(month: Asked) -> None:
    asked_for = {"object_name": "MART.SALES.FCT_ORDERS", "direction": "upstream"}
    first = {(row[2], row[4]) for row in month.rows("lineage", **asked_for)}
    fact = "MART.SALES.FCT_ORDERS"
    assert first == {
        ("RAW.SHOP.FX_RATES", fact), ("STAGING.DBT.STG_CUSTOMERS", fact), ("STAGING.DBT.STG_ORDERS", fact)
    }  # fmt: skip
    second = {(row[1], row[2], row[4]) for row in month.rows("lineage", **asked_for, steps=2)}
    assert ("2", "RAW.CRM.CUSTOMERS", "STAGING.DBT.STG_CUSTOMERS") in second
    assert {row[2] for row in month.rows("lineage", **asked_for, at="2026-09-02")} == {
        "STAGING.DBT.STG_CUSTOMERS", "STAGING.DBT.STG_ORDERS"
    }  # fmt: skip


def test_lineage_of_a_column_and_its_way_down(month: Asked) -> None:
    rows = month.rows("lineage", object_name="RAW.CRM.CUSTOMERS", column_name="email", direction="downstream", steps=5)
    reached = {(row[4], row[5]) for row in rows}
    copies = {
        (row[0], row[2]) for row in month.rows("column-copies", object_name="RAW.CRM.CUSTOMERS", column_name="EMAIL")
    }
    assert copies <= reached


def test_lineage_says_where_nothing_is_known(month: Asked) -> None:
    answer = month.answer("lineage", object_name="GOVERNANCE.POLICIES.EMAIL_MASK")
    assert answer["rows"] == []
    assert whole(answer["notes"][0]) == "No row shows that data came to it or went from it."
    assert "1 query was cut by Snowflake" in whole(answer["notes"][1])  # as below the answer of end-up


# --- SPARQL -----------------------------------------------------------------------------------------------------------


def test_every_form_of_sparql(month: Asked) -> None:
    user = "PREFIX ah: <https://w3id.org/access-history#> "
    assert month.rows("sparql", query=f"{user} ASK {{ ?user a ah:User }}") == [["true"]]
    names = month.rows("sparql", query=f"{user} SELECT ?name {{ ?user a ah:User ; ah:userName ?name }} ORDER BY ?name")
    assert ["MARIA_ANALYST"] in names
    triples = month.answer("sparql", query=f"{user} CONSTRUCT WHERE {{ ?user ah:userName ?name }}")
    assert triples["columns"] == ["subject", "predicate", "object"]
    assert {row[2] for row in triples["rows"]} == {name for (name,) in names}
    assert month.rows("sparql", query="DESCRIBE <user/MARIA_ANALYST>")


def test_an_empty_solution_says_what_to_look_at(month: Asked) -> None:
    answer = month.answer("sparql", query="SELECT * { ?a ?b 'nothing' }")
    assert answer["rows"] == []
    assert "The query has no solution." in whole(answer["notes"][0])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT * { ?a ?b", "The query is not valid SPARQL 1.1: error at 1:17"),
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }", "has a SERVICE"),
        ("SELECT * FROM <file:///etc/passwd> { ?a ?b ?c }", "reads FROM somewhere"),
        ("LOAD <file:///etc/passwd>", "is an update (LOAD)"),
        ("DELETE WHERE { ?a ?b ?c }", "is an update (DELETE)"),
        ("  ", "sparql needs the argument query."),
    ],
)
def test_what_is_not_answered(month: Asked, query: str, why: str) -> None:
    assert why in month.error("sparql", query=query)


def test_an_answer_that_takes_long_ends(month_graph: Path) -> None:
    with asked(month_graph, seconds=1.0) as server:
        assert "There is no answer after 1 s" in server.error("sparql", query=ENDLESS)
        assert server.rows("sparql", query="ASK {}") == [["true"]]


def test_the_model_lets_an_assistant_write_sparql(month: Asked) -> None:
    """Its examples are answered; its classes are those of the graph."""
    text = month.answer("model")["text"]
    examples = [part.split("```")[0] for part in text.split("```sparql\n")[1:]]
    asked_for = [one for one in examples if "SELECT" in one]
    assert len(asked_for) >= 3
    assert all(month.rows("sparql", query=one) for one in asked_for)
    used = month.rows("sparql", query="SELECT DISTINCT ?class { ?node a ?class }", limit=500)
    ours = {name.rpartition("#")[2] for (name,) in used if name.startswith("https://w3id.org/access-history#")}
    assert {"Query", "User", "Version", "ColumnVersion", "Access"} <= ours
    assert all(f"ah:{name} " in text for name in ("Query", "User", "Version", "ColumnVersion", "Access"))


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given", "why"),
    [
        ("who-acessed", {}, "There is no tool who-acessed, but: "),
        ("who-accessed", {}, "who-accessed needs object_id=VALUE or object_name=VALUE."),
        ("who-accessed", {"object_nam": "X"}, "no argument object_nam. Did you mean object_name?"),
        ("who-accessed", {"object_name": {"a": 1}}, "object_name: write a text, or a list of texts."),
        ("who-accessed", {"object_name": [True]}, "object_name: write a text, or a list of texts."),
        ("who-accessed", {"object_name": []}, "object_name: an empty list has no value."),
        ("user-history", {"user_name": []}, "user_name: an empty list has no value."),
        ("user-history", {"user_name": ["JSMITH", ""]}, "user_name: is empty"),
        ("who-accessed", {"object_name": "X", "since": "soon"}, "since=soon is not a time."),
        ("who-accessed", {"object_id": "-4"}, "object_id=-4 is not an id"),
        ("who-accessed", {"object_name": "X", "since": "2026-09-02", "until": "2026-09-01"}, "is after until="),
        ("user-history", {"limit": 0}, "limit: write a whole number from 1 to 500."),
        ("user-history", {"limit": "many"}, "limit: write a whole number from 1 to 500."),
        ("user-history", {"offset": -1}, "offset: write a whole number from 0 to 100,000."),
        ("object", {}, "object needs the argument object_name."),
        ("object", {"object_name": "RAW.CRM.CUSTOMER"}, "The nearest: RAW.CRM.CUSTOMERS"),
        ("object", {"iri": "table/4711"}, "There is no object table/4711 in the graph."),
        ("object", {"object_name": "RAW.CRM.CUSTOMERS", "part": "all"}, "there is no part all, but: names, "),
        ("object", {"object_name": "RAW.CRM.CUSTOMERS", "offset": 3}, "offset: name the part that it is of, too."),
        ("query", {"query_id": "none"}, "There is no query none in the graph."),
        ("lineage", {"object_name": "RAW.CRM.CUSTOMERS", "at": "soon"}, "at: write a day such as 2026-09-30."),
        ("lineage", {"object_name": "RAW.CRM.CUSTOMERS", "direction": "left"}, "direction: write one of upstream, "),
        ("lineage", {"object_name": "RAW.CRM.CUSTOMERS", "column_name": "NO"}, "The object has no column NO"),
        ("search", {}, "search needs the argument text."),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_and_what_to_do(month: Asked, tool: str, given: dict, why: str) -> None:
    said = month.error(tool, **given)
    assert why in said
    assert "Traceback" not in said
    assert "--param" not in said


def test_a_name_of_several_things_asks_which_one(month: Asked) -> None:
    assert find("writers").parameters
    with_kind = month.answer("former-names", object_name="MART.SALES.DIM_CUSTOMER")
    assert len(with_kind["rows"]) == 4
