"""The shipped questions: their parameters and results, in two engines; and the command that asks them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Store
from rdflib import Graph
from rdflib.plugins.sparql import prepareQuery

from exporter.ask import movement, pool
from exporter.ask.parameters import Parameter, bind, declared
from exporter.ask.questions import Answer, Question, find, questions, render, select
from exporter.ask.shipped import VALUES, comment_of
from exporter.errors import UsageError
from exporter.graph.store import load
from tests.ask.asked import answer
from tests.ask.lineage_graphs import SOME, Copy, graph_of
from tests.ask.plain_answers import QUESTIONS
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator


_SAID_BY_OTHERS = {
    "queries",
    "last_read",
    "parent_query_id",
    "root_query_id",
    "direct_objects",
    "base_objects",
    "target_columns",
}
"""Columns that follow from the others of a row: of its query, or of what it counts."""


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.name)
def test_the_order_of_rows_is_the_same_in_all_graphs(question: Question) -> None:
    """Rows of an answer that differ have an order, however the graph was made."""
    order = re.findall(r"\?(\w+)", question.query[question.query.rindex("ORDER BY") :])
    assert set(question.columns) - _SAID_BY_OTHERS <= set(order)


def test_the_questions_are_those_that_are_documented() -> None:
    shipped = {question.name for question in questions()}
    assert shipped - set(QUESTIONS) == set(), "add these to QUESTIONS in tests/ask/plain_answers.py"
    assert set(QUESTIONS) - shipped == set(), "QUESTIONS in tests/ask/plain_answers.py has questions that do not exist"


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_says_what_its_answer_is_made_of(name: str) -> None:
    """Notes, groups and pages follow from it. A word that is not one of the values counts as text."""
    question = find(name)
    assert all((question.group, question.needs, question.daily_reads, question.aggregated_queries))
    assert not any(line.startswith(tuple(f"{one}:" for one in VALUES)) for line in comment_of(question.query))


def test_a_question_of_ones_own_may_say_what_its_answer_is_made_of(tmp_path: Path) -> None:
    own = tmp_path / "own.rq"
    own.write_text(
        "# Mine?\n# needs: reads, weather\n# group: Mine\n# daily reads: left out\n# param a: one\nASK { ?s ?p ?o }\n",
        encoding="utf-8",
    )
    question = find(str(own))
    assert (question.asks, question.group, question.needs, question.daily_reads, question.aggregated_queries) == (
        "Mine?", "", {"reads"}, "left out", ""
    )  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_takes_its_parameters(name: str) -> None:
    wanted = QUESTIONS[name][0].replace("…", "[since] [until]").split()
    shown = (re.sub(r"\((\w+) in place of \w+\)", r"|\1", str(parameter)) for parameter in find(name).parameters)
    assert list(shown) == wanted


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_says_what_it_asks(name: str) -> None:
    assert find(name).asks.endswith("?") or "? " in find(name).asks


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_its_columns_whatever_is_there(name: str) -> None:
    assert select(Store(), find(name).query, name).columns == tuple(QUESTIONS[name][1].split())


@pytest.fixture(scope="module")
def both() -> tuple[Graph, Store]:
    """The small company in rdflib and in pyoxigraph. ``test_jena.py`` runs the files on further graphs: rdflib needs
    seconds for a long one.
    """
    return Graph().parse(VALID), load(VALID)


@pytest.mark.parametrize("name", QUESTIONS)
def test_two_engines_answer_the_same(name: str, both: tuple[Graph, Store]) -> None:
    """The files run unchanged."""
    in_rdflib, in_pyoxigraph = both
    question = find(name)
    by_rdflib = sorted(tuple(_plain(cell) for cell in row) for row in in_rdflib.query(prepareQuery(question.query)))
    by_pyoxigraph = sorted(
        tuple(_plain(cell) for cell in row) for row in select(in_pyoxigraph, question.query, name).rows
    )
    assert by_rdflib == by_pyoxigraph


def _plain(cell: object) -> str:
    """Times without the ways to spell them."""
    text = "" if cell is None else str(cell)
    try:
        return datetime.fromisoformat(text).isoformat() if text.startswith("20") else text
    except ValueError:
        return text


# --- the movement of sensitive data


def paths(copies: list[Copy], folder: Path, source: str = "S1", **given: str) -> list[str]:
    rows = answer(movement.QUESTION, graph_of(copies, folder), {"object_name": source, **given}).rows
    return [str(row[0]) for row in rows]


def test_a_step_before_the_one_that_brought_the_data_does_not_count(tmp_path: Path) -> None:
    copies = [Copy("T1", "T6"), Copy("S1", "T1"), Copy("T1", "T2"), Copy("T6", "T7")]
    assert paths(copies, tmp_path) == ["S1-->T1", "S1-->T1-->T2"]


def test_a_path_continues_from_any_later_version(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1"), Copy("T9", "T1"), Copy("T1", "T2")]
    assert paths(copies, tmp_path) == ["S1-->T1", "S1-->T1-->T2"]


def test_data_does_not_outlive_a_table_that_is_created_again(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1"), Copy("T9", "T1", anew=True), Copy("T1", "T2")]
    assert paths(copies, tmp_path) == ["S1-->T1"]


def test_no_object_stands_twice_on_a_path(tmp_path: Path) -> None:
    copies = [
        Copy("S1", "T1"),
        Copy("T1", "T2"),
        Copy("T2", "T1"),
        Copy("T1", "T1"),
        Copy("T1", "T2"),
        Copy("T2", "S1"),
    ]
    assert paths(copies, tmp_path) == ["S1-->T1", "S1-->T1-->T2"]


def test_a_table_that_is_created_again_from_itself_keeps_the_data(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1"), Copy("T1", "T1", anew=True), Copy("T1", "T2")]
    assert paths(copies, tmp_path) == ["S1-->T1", "S1-->T1-->T1", "S1-->T1-->T1-->T2"]


def test_every_way_to_an_object_is_a_path(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1"), Copy("S1", "T2"), Copy("T1", "T3"), Copy("T2", "T3"), Copy("T3", "T4")]
    assert paths(copies, tmp_path) == [
        "S1-->T1", "S1-->T1-->T3", "S1-->T1-->T3-->T4", "S1-->T2", "S1-->T2-->T3", "S1-->T2-->T3-->T4",
    ]  # fmt: skip


def test_a_path_says_the_names_that_objects_had_then(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1", called="OLD"), Copy("S1", "T1", called="NEW"), Copy("T1", "T2")]
    assert paths(copies, tmp_path) == ["S1-->NEW", "S1-->NEW-->T2", "S1-->OLD", "S1-->OLD-->T2"]


def test_since_is_of_the_first_step_and_until_of_the_last(tmp_path: Path) -> None:
    copies = [Copy("S1", "T1"), Copy("T1", "T2"), Copy("S1", "T3"), Copy("T3", "T4")]
    assert paths(copies, tmp_path, since="2026-01-01T00:02:00Z") == ["S1-->T3", "S1-->T3-->T4"]
    assert paths(copies, tmp_path, until="2026-01-01T00:03:00Z") == ["S1-->T1", "S1-->T1-->T2"]


def test_the_source_is_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    copies = [Copy("T1", "T2")]
    assert paths(copies, tmp_path, "T1", domain="stage") == []
    assert paths(copies, tmp_path, "T1") == ["T1-->T2"]
    assert paths(copies, tmp_path, "t1", domain="TABLE") == ["T1-->T2"]


def test_the_command_has_the_columns_of_the_file() -> None:
    assert tuple(QUESTIONS[movement.QUESTION][1].split()) == movement.COLUMNS


def test_the_file_alone_finds_the_same_targets(tmp_path: Path) -> None:
    """With no more than SPARQL 1.1, the two ends of each path."""
    graph = graph_of(SOME, tmp_path)
    question = find(movement.QUESTION)
    bound = bind(question.query, question.parameters, {"object_name": "S1"})
    targets = {row[1:4] for row in select(load(graph), bound, question.name).rows}
    assert targets == {row[1:4] for row in answer(question.name, graph, {"object_name": "S1"}).rows}


def test_many_writes_make_no_more_paths(tmp_path: Path) -> None:
    copies = [copy for _ in range(60) for copy in (Copy("S1", "T1"), Copy("T1", "T2"), Copy("T2", "T3"))]
    assert paths(copies, tmp_path) == ["S1-->T1", "S1-->T1-->T2", "S1-->T1-->T2-->T3"]


many = settings(max_examples=100)
OBJECTS = st.sampled_from(["S1", "T1", "T2", "T3", "T4"])
Node = tuple[str, int]
HISTORIES = st.lists(st.builds(Copy, OBJECTS, OBJECTS, anew=st.sampled_from([False, False, False, True])), max_size=12)


def steps(copies: list[Copy]) -> list[tuple[Node, Node]]:
    """What each row read and wrote; a table that is created anew is another one from then on."""
    times: dict[str, int] = defaultdict(int)
    found = []
    for copy in copies:
        read = (copy.source, times[copy.source])
        times[copy.target] += copy.anew
        found.append((read, (copy.target, times[copy.target])))
    return found


def plain_paths(rows: list[tuple[Node, Node]], path: tuple[Node, ...], after: int = -1) -> Iterator[tuple[Node, ...]]:
    """What the rows say, read one after the other: each step after the one before, in what it wrote."""
    for number, (read, written) in enumerate(rows):
        if number > after and read == path[-1] and written not in path:
            yield (*path, written)
            yield from plain_paths(rows, (*path, written), number)


def plain_paths_from_s1(copies: list[Copy]) -> set[tuple[str, ...]]:
    rows = steps(copies)
    begins = {read for read, _ in rows if read[0] == "S1"}
    return {tuple(name for name, _ in path) for begin in begins for path in plain_paths(rows, (begin,))}


@given(HISTORIES)
@many
def test_paths_are_those_of_a_plain_reading_of_the_rows(copies: list[Copy]) -> None:
    with TemporaryDirectory() as folder:
        found = paths(copies, Path(folder)) if copies else []
    assert found == sorted("-->".join(path) for path in plain_paths_from_s1(copies))


@given(HISTORIES)
@many
def test_copies_of_a_column_are_those_of_a_plain_reading_of_the_rows(copies: list[Copy]) -> None:
    with TemporaryDirectory() as folder:
        graph = graph_of([*copies, Copy("S1", "T5")], Path(folder))
        found = answer("column-copies", graph, {"object_name": "S1", "column_name": "C"})
    targets = {path[-1] for path in plain_paths_from_s1([*copies, Copy("S1", "T5")])}
    assert [row[0] for row in found.rows] == sorted(targets - {"S1"})


def test_too_many_paths_are_truncated_with_a_note(tmp_path: Path) -> None:
    """Ten tables that are all copied to one another have ten million simple paths."""
    tables = [f"T{number}" for number in range(1, 11)]
    copies = [Copy("S1", table) for table in tables]
    copies += [Copy(one, other) for _ in range(9) for one in tables for other in tables if one != other]
    found = answer(movement.QUESTION, graph_of(copies, tmp_path), {"object_name": "S1"})
    assert len(found.rows) == movement.MAX_PATHS
    assert found.notes == [
        f"There are more than {movement.MAX_PATHS} paths; these are the shortest. Narrow them by since and until."
    ]


# --- columns and versions


def test_copies_of_a_column_are_found_over_any_number_of_steps(tmp_path: Path) -> None:
    copies = [Copy("T9", "T8"), Copy("T1", "T9"), Copy("T1", "T2"), Copy("T2", "T3"), Copy("T3", "T1")]
    found = answer("column-copies", graph_of(copies, tmp_path), {"object_name": "T1", "column_name": "C"})
    assert found.rows == [("T2", "Table", "C"), ("T3", "Table", "C"), ("T9", "Table", "C")]


def test_the_root_cause_is_followed_all_the_way_up_and_not_later(tmp_path: Path) -> None:
    graph = graph_of([Copy("S1", "T1"), Copy("T1", "T2"), Copy("S5", "T1")], tmp_path)
    found = answer("root-cause", graph, {"object_name": "T2", "column_name": "C"})
    assert [row[:3] for row in found.rows] == [("T1", "C", "q0002"), ("S1", "C", "q0001")]
    assert (
        answer("root-cause", graph, {"object_name": "T2", "column_name": "C", "at": "2026-01-01T00:01:30Z"}).rows == []
    )


def test_lineage_as_of_a_time_knows_nothing_later(tmp_path: Path) -> None:
    graph = graph_of([Copy("S1", "T1"), Copy("T1", "T2"), Copy("S5", "T1"), Copy("T1", "T2")], tmp_path)
    early, late = "2026-01-01T00:02:00Z", "2026-01-01T00:04:00Z"
    sources = {
        at: {row[0] for row in answer("lineage-as-of", graph, {"object_name": "T2", "at": at}).rows}
        for at in (early, late)
    }
    assert sources == {early: {"T1", "S1"}, late: {"T1", "S1", "S5"}}


def test_users_downstream_are_those_of_every_copy(tmp_path: Path) -> None:
    graph = graph_of([Copy("T2", "T9"), Copy("T1", "T2"), Copy("T2", "T3")], tmp_path)
    found = answer("downstream-users", graph, {"object_name": "T1"})
    assert found.rows == [("ETL", "T1", "2026-01-01T00:02:00Z"), ("ETL", "T2", "2026-01-01T00:03:00Z")]


def test_writers_are_of_the_object_as_it_was_called(tmp_path: Path) -> None:
    graph = graph_of([Copy("S1", "T1", called="OLD"), Copy("S1", "T1")], tmp_path)
    found = answer("writers", graph, {"object_name": "old", "domain": "Table"})
    assert found.rows == [("ETL", "q0001", "2026-01-01T00:01:00Z")]


def test_names_in_quotes_keep_their_case(tmp_path: Path) -> None:
    graph = graph_of([Copy("S1", "T1", called='\\"t\\"')], tmp_path)
    assert len(answer("writers", graph, {"object_name": '"t"', "domain": "Table"}).rows) == 1
    assert answer("writers", graph, {"object_name": '"T"', "domain": "Table"}).rows == []


# --- asking


def test_an_unknown_question_names_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"no question who-acessed\. Did you mean who-accessed\? There are: agent-reads, "
    ):
        find("who-acessed")


def test_an_unknown_parameter_names_the_nearest_and_all() -> None:
    with pytest.raises(
        UsageError, match=r"no parameter object\. Did you mean object_id\? Its parameters: object_id, \[d"
    ):
        answer("who-accessed", VALID, {"object": "1"})


def test_a_parameter_that_is_needed_is_asked_for_before_the_graph_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="who-accessed needs --param object_id=VALUE"):
        pool.answer("who-accessed", tmp_path / "nowhere", {}, seconds=60, rows=10)


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01", "0001-01-01T00:00:00+10:00", " "])
def test_an_invalid_time_is_refused(time: str) -> None:
    with pytest.raises(UsageError, match=r"is not a time\. Write 2026-09-30"):
        answer("unused-objects", VALID, {"since": time})


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ("2026-09-30", "2026-09-30T00:00:00Z"),
        ("2026-09-30T08:00:00+02:00", "2026-09-30T06:00:00Z"),
        ("2026-09-30 08:00:00.125", "2026-09-30T08:00:00.125000Z"),
        ("2026-09-30 08:00:00.000 -0700", "2026-09-30T15:00:00Z"),  # as rows have it
    ],
)
def test_times_are_taken_in_utc(given: str, bound: str) -> None:
    text = "VALUES ?since { UNDEF }  # param since"
    assert f'{{ "{bound}"^^<' in bind(text, [Parameter("since", "", "time")], {"since": given})


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_is_bound_as_it_is(text: str) -> None:
    """Quotes, newlines and what looks like SPARQL are text and nothing else."""
    query = "SELECT ?name WHERE {\n  VALUES ?name { UNDEF }  # param name\n}"
    found = select(Store(), bind(query, [Parameter("name", "")], {"name": text}), "test")
    assert found.rows == [(text,)]


def test_a_parameter_that_has_no_place_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    own = tmp_path / "own.rq"
    own.write_text("# Mine?\n# param name: a name\nSELECT * WHERE { ?s ?p ?o }\n", encoding="utf-8")
    with pytest.raises(UsageError, match="parameter name is declared but has no place"):
        answer(str(own), VALID, {"name": "x"})


def test_a_file_of_ones_own_is_asked_too(tmp_path: Path) -> None:
    own = tmp_path / "own.rq"
    own.write_text(
        "# Which users?\n# param user? : x\n# param name?: one\nPREFIX ah: <https://w3id.org/access-history#>\n"
        "SELECT ?name WHERE {\n  VALUES ?name { UNDEF }  # param name\n  ?user ah:userName ?name }\n",
        encoding="utf-8",
    )
    assert answer(str(own), VALID, {}).rows == [("ETL",)]
    assert answer(str(own), VALID, {"name": "NOBODY"}).rows == []
    assert find(str(own)).asks == "Which users?"


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        ("ASK { ?user <https://w3id.org/access-history#userName> 'ETL' }", ("answer",), [("true",)]),
        (
            "CONSTRUCT { ?user <urn:is> ?name } WHERE { ?user <https://w3id.org/access-history#userName> ?name }",
            ("subject", "predicate", "object"),
            [("snowflake://ACME-PROD/user/ETL", "urn:is", "ETL")],
        ),
    ],
)
def test_other_forms_of_query_are_answered_too(
    query: str, columns: tuple[str, ...], rows: list[tuple[str]], tmp_path: Path
) -> None:
    own = tmp_path / "own.rq"
    own.write_text(query, encoding="utf-8")
    found = answer(str(own), VALID, {})
    assert found == Answer(columns, rows, found.notes)
    assert "own may leave out results that follow from reads alone" in found.notes[0]  # the graph has reads by day


def test_a_query_that_does_not_parse_names_the_place(tmp_path: Path) -> None:
    own = tmp_path / "own.rq"
    own.write_text("SELECT ?x WHERE {\n  ?x ?y\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"^own is not valid SPARQL 1\.1: error at 3:1: expected one of "):
        answer(str(own), VALID, {})


def test_the_engines_message_about_a_query_is_kept(tmp_path: Path) -> None:
    own = tmp_path / "own.rq"
    own.write_text("SELECT ?x WHERE { ?x foo:bar ?y }", encoding="utf-8")
    with pytest.raises(UsageError, match=r"^own is not valid SPARQL 1\.1: error at 1:29: Prefix not found$"):
        answer(str(own), VALID, {})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.rq cannot be read: No such file"):
        find(str(tmp_path / "nowhere.rq"))


def test_declarations_are_read_from_comments() -> None:
    text = "# param a: one\n# param b? (time): two, with: colon\n# param c = A value: three\n#param d: no\n"
    assert declared(text) == (
        Parameter("a", "one"),
        Parameter("b", "two, with: colon", "time", required=False),
        Parameter("c", "three", required=False, default="A value"),
    )


# --- the store


def test_a_folder_of_an_export_and_one_of_turtle_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "part-0.ttl").write_bytes(VALID.read_bytes())
    (tmp_path / "shacl-report.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    assert len(load(tmp_path)) == len(load(tmp_path / "graph")) == len(load(VALID))


def test_a_folder_with_exports_in_it_is_refused_with_their_names(tmp_path: Path) -> None:
    """Their reports would count as what is on record, and what one forgets would stay in a store beside the folder."""
    for name in ("lineage", "other"):
        (tmp_path / name / "graph").mkdir(parents=True)
        (tmp_path / name / "graph" / "part-0.ttl").write_bytes(VALID.read_bytes())
    assert len(load(tmp_path)) == len(load(VALID)), "folders of Turtle"
    (tmp_path / "other" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match=f"is not an export, and has exports in it. Give {tmp_path}/other\\.$"):
        load(tmp_path)
    (tmp_path / "lineage" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match=f"Give {tmp_path}/lineage, one of 2 in it\\.$"):
        load(tmp_path)
    assert len(load(tmp_path / "other")) == len(load(VALID))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (None, None, r"does not exist\. Give the folder that export wrote"),
        ("readme.txt", "hello", r"holds no Turtle files \(\*\.ttl\)"),
        ("a.ttl", "@prefix a: <urn:a> .\n", "holds no triples"),
        ("a.ttl", "<urn:a> <urn:b>\n  oops .", r"a\.ttl is not valid Turtle: line 2 "),
        ("a.ttl", "<urn:a> <urn:b> '\udcff' .", r"a\.ttl is not valid Turtle: "),
    ],
)
def test_a_file_that_is_no_graph_is_named(name: str | None, content: str | None, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    if name is not None and content is not None:
        folder.mkdir()
        (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=message):
        load(folder)


# --- the forms of an answer

SHOWN = Answer(("name", "n"), [('a "b", c', "1"), ("line\nbreak\x1b[31m", None)])


def test_a_table_lines_up_and_shows_control_characters() -> None:
    assert render(SHOWN, "table").splitlines() == [
        "name                 n",
        "-------------------  -",
        'a "b", c             1',
        "line\\nbreak\\x1b[31m",
        "(2 rows)",
    ]


def test_csv_and_json_hold_the_values_as_they_are() -> None:
    assert list(csv.reader(io.StringIO(render(SHOWN, "csv"), newline=""))) == [
        ["name", "n"], ['a "b", c', "1"], ["line\nbreak\x1b[31m", ""],
    ]  # fmt: skip
    assert json.loads(render(SHOWN, "json")) == [
        {"name": 'a "b", c', "n": "1"},
        {"name": "line\nbreak\x1b[31m", "n": None},
    ]


def test_an_answer_without_rows_says_so() -> None:
    nothing = Answer(("name",), [])
    assert render(nothing, "table") == "name\n----\n(0 rows)\n"
    assert (render(nothing, "csv"), render(nothing, "json")) == ("name\n", "[]\n")


def test_a_format_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no format xml\. There are: table, csv, json"):
        render(SHOWN, "xml")
