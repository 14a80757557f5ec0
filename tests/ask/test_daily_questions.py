"""Every shipped question, asked of the same rows with full and with daily reads: the same answers, except for single
reads.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, Store, parse

from exporter.ask import movement
from exporter.ask.answers import Answer
from exporter.ask.lookups import Lookups
from exporter.ask.parameters import bind
from exporter.ask.questions import ask, find, questions, select, with_objects_found
from exporter.cli import main
from exporter.graph.store import load
from tests.ask import dense_histories, stories
from tests.ask.drawn import together
from tests.ask.drawn_parameters import ASKED_TOGETHER, PLANNED_LONG, found, given_of, values_of, whose
from tests.ask.plain_history import History
from tests.ask.test_names import SET_MASK, asked, changed, copied, read, thing
from tests.exports import export, ndjson

if TYPE_CHECKING:
    from tests.ask.drawn_parameters import Given
    from tests.histories import Json

MONTH: Final = Path(__file__).parents[2] / "examples" / "company-month"
SEEDS: Final = range(int(os.environ.get("EXPORTER_TEST_SEEDS", "24")))
"""More of them: ``EXPORTER_TEST_SEEDS=100 bin/test tests/ask/test_daily_questions.py``."""
_IN_A_GROUP: Final = 6
ASKED: Final = 3
ALL: Final = [question.name for question in questions()]
SAME: Final = [question.name for question in questions() if question.daily_reads == "same"]
SINGLE: Final = [question.name for question in questions() if question.daily_reads == "rows by day"]
_START: Final = dense_histories.START.replace(hour=0)
NO_READS: Final = "exposure"
"""Of grants, which these histories have none of, and no read."""
AGENTS: Final = (
    {"agentType": "CORTEX_AGENT", "agentId": 7, "agentName": "D.S.HELPER"},
    {"agentType": "EXTERNAL_AGENT"},
)
COUNTING: Final = "column-readers"
"""Of one column of one object queries are counted; of several, each query for each of them."""
NAMED_AT_READS: Final = {"unmasked-copies": {0, 2}}
"""Columns with the name that another object had at the time of a read: of a day the first and the last are known."""
Told = frozenset[tuple[str | None, ...]]


def _only_reads(row: Json) -> bool:
    return bool(row["base_objects_accessed"]) and not (row["objects_modified"] or row["object_modified_by_ddl"])


def _again(row: Json, number: int, rng: Random) -> Json:
    """The same statement, run again a little later."""
    at = datetime.fromisoformat(row["query_start_time"]) + timedelta(seconds=rng.choice((0, 1, 2, 5, 9)))
    query_id = f"{row['query_id']}-again-{number}"
    return {**row, "query_id": query_id, "query_start_time": f"{at:%Y-%m-%dT%H:%M:%S.000Z}"}


def _later(time: str, factor: int) -> str:
    """The same moment in a history that is so many times as long."""
    at = datetime.fromisoformat(time)
    moved = _START + (at - dense_histories.START) * factor
    return f"{moved.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def _of_agents(number: int) -> Json:
    """Software agents took part in one of five queries."""
    return {"agents_info": AGENTS[: 1 + number % 2]} if number % 5 == 0 else {}


@cache
def rows_of(seed: int) -> tuple[list[Json], list[Json]]:
    """A dense history over days, its queries minutes to hours apart, most reads several times; some with lines of
    QUERY_HISTORY, and roles.
    """
    rng = Random(seed)
    rows, history = dense_histories.history(seed, 30)
    again = [_again(row, number, rng) for row in rows if _only_reads(row) for number in range(rng.randint(0, 4))]
    rows, factor = [*rows, *again], rng.choice((600, 1800, 7200))
    own = {"organization_name": "DAILY", "account_name": f"S{seed}"}
    told = [
        {**row, **own, "query_start_time": _later(row["query_start_time"], factor), **_of_agents(number)}
        for number, row in enumerate(rows)
    ]
    starts = {row["query_id"]: row["query_start_time"] for row in told}
    lines = [{**one, "end_time": starts[one["query_id"]], "role_name": f"R{seed % 3}"} for one in history]
    return told, lines if seed % 2 else []


@cache
def graphs(mode: str) -> dict[int, Store]:
    """The graph of each seed, an account of its own."""
    folder = Path(tempfile.mkdtemp(prefix="exporter-daily-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rows, lines = [], []
    for seed in SEEDS:
        told, history = rows_of(seed)
        rows += told
        lines += history
    given = ("--query-history", str(ndjson(lines, folder / "lines.ndjson")), "--outputs", "graph", "--reads", mode)
    assert export([ndjson(rows, folder / "rows.ndjson")], folder / "out", *given) == 0
    found: dict[str, Store] = {f"snowflake://DAILY-S{seed}/": Store() for seed in SEEDS}
    for file in sorted((folder / "out" / "graph").glob("*.ttl")):
        for quad in parse(path=file, format=RdfFormat.TURTLE):
            for base in [_base(quad)] if _base(quad) in found else found:
                found[base].add(quad)
    return {int(base.rpartition("-S")[2].rstrip("/")): store for base, store in found.items()}


def _base(quad: Quad) -> str:
    """The account that a triple is of; of places outside, by what it refers to."""
    for term in (quad.subject, quad.object):
        iri = term.value if isinstance(term, NamedNode) else ""
        if iri.startswith("snowflake://DAILY-S"):
            return iri[: iri.index("/", len("snowflake://")) + 1]
    return ""


@cache
def _values(seed: int) -> dict[str, list[str]]:
    rows, lines = rows_of(seed)
    return values_of(History(rows, {one["query_id"]: one["end_time"] for one in lines}))


def groups(question: str) -> list[tuple[int, ...]]:
    """The seeds whose graphs are asked as one: some, where the question is planned long, or one."""
    is_together = question in ASKED_TOGETHER
    number = max(1, len(SEEDS) // _IN_A_GROUP) if is_together else len(SEEDS)
    return [tuple(SEEDS[at::number]) for at in range(number)]


@cache
def graph(mode: str, seeds: tuple[int, ...]) -> Store:
    return together(graphs(mode)[seed] for seed in seeds)


def parameters(question: str, seeds: tuple[int, ...]) -> list[Given]:
    """Values of the histories; ``since`` and ``until`` at midnight, for reads are told by day."""
    asked = ASKED if len(seeds) == 1 and question not in PLANNED_LONG else 1
    found: list[Given] = []
    for seed in whose(question, seeds):
        for given in given_of(question, str(seed), _values(seed), asked):
            one = {
                name: [_midnight(time) for time in each] if name in {"since", "until"} else each
                for name, each in given.items()
            }
            found += [one] if one not in found else []
    return found


def _midnight(time: str) -> str:
    return f"{time[:10]}T00:00:00Z"


def _without(rows: Told, places: set[int]) -> Told:
    return frozenset(tuple(cell for place, cell in enumerate(row) if place not in places) for row in rows)


def test_the_days_are_of_many_reads() -> None:
    """Else there would be nothing to tell apart."""
    asked = (
        "PREFIX ah: <https://w3id.org/access-history#> SELECT ?n WHERE { ?read a ah:DailyRead%s ; ah:queryCount ?n }"
    )
    for part in ("", "Part"):
        found: list[Any] = [row for store in graphs("daily").values() for row in store.query(asked % part)]  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
        counts = [int(row[0].value) for row in found]
        assert sum(count > 1 for count in counts) > 10


def told(store: Store, question: str, given: Given) -> Told:
    return frozenset(answered(store, question, given).rows)


def answered(store: Store, question: str, given: Given) -> Answer:
    """What the graph answers, without a look at what the parameters name."""
    asked = found(question)
    if question == movement.QUESTION:
        return Answer(movement.COLUMNS, *movement.rows(Lookups(store), asked, given, limit=10**6))
    return select(store, with_objects_found(store, bind(asked.query, asked.parameters, given)), question)


@pytest.mark.parametrize("question", SAME)
def test_a_question_answers_the_same(question: str) -> None:
    answers = 0
    for seeds in groups(question):
        for given in parameters(question, seeds):
            full, daily = (told(graph(mode, seeds), question, given) for mode in ("full", "daily"))
            words = f"{question} {given} of {seeds}"
            if question == COUNTING and not all(len(given.get(one, ())) == 1 for one in ("object_name", "column_name")):
                full, daily = (_without(one, {1}) for one in (full, daily))
            if question in NAMED_AT_READS:
                assert daily <= full, words
                full, daily = (_without(one, NAMED_AT_READS[question]) for one in (full, daily))
            assert sorted(daily, key=str) == sorted(full, key=str), words
            answers += min(len(full), len(seeds))
    assert answers > 5 or question == NO_READS, "hardly any history has an answer"


@pytest.mark.parametrize("mode", ["full", "daily"])
def test_a_view_was_read_before_and_after_its_table_had_the_name(mode: str, tmp_path: Path) -> None:
    """The view's own name stays, so one node has all reads of the day."""
    table, view = {"objectDomain": "Table", "objectId": 11}, {"objectDomain": "View", "objectId": 21}

    def read(hour: int, name: str) -> Json:
        column = [{"columnName": "A"}]
        return {
            "query_id": f"read-{hour}",
            "query_start_time": f"2026-05-06T{hour:02}:00:00.000Z",
            "user_name": "CAT",
            "direct_objects_accessed": [{**view, "objectName": "D.S.V", "columns": column}],
            "base_objects_accessed": [{**table, "objectName": name, "columns": column}],
        }

    def renamed(hour: int, name: str, new: str) -> Json:
        change = {**table, "objectName": name, "operationType": "ALTER", "properties": {"objectName": {"value": new}}}
        start = f"2026-05-06T{hour:02}:00:00.000Z"
        return {
            "query_id": f"renamed-{hour}",
            "query_start_time": start,
            "user_name": "ETL",
            "object_modified_by_ddl": change,
        }

    rows = [read(1, "D.S.A"), renamed(2, "D.S.A", "D.S.B"), read(3, "D.S.B"), renamed(4, "D.S.B", "D.S.C")]
    rows.append(read(5, "D.S.C"))
    options = ("--outputs", "graph", "--reads", mode)
    assert export([ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", *options) == 0
    answer = answered(load(tmp_path / "out"), "downstream-users", {"object_name": ["D.S.B"]})
    assert ("CAT", "D.S.V", "2026-05-06T05:00:00Z") in answer.rows


@pytest.mark.parametrize("question", SINGLE)
def test_a_question_about_single_reads_has_a_row_for_those_of_a_day(question: str) -> None:
    """Rows with a query id are of queries that are kept whole; the others say the same of somebody's reads of a day."""
    without = 0
    for seed in SEEDS:
        for given in parameters(question, (seed,)):
            answers = [answered(graphs(mode)[seed], question, given) for mode in ("full", "daily")]
            place = answers[0].columns.index("query_id")
            full, daily = (frozenset(answer.rows) for answer in answers)
            whole = {row for row in daily if row[place] is not None}
            assert whole <= full, f"{question} {given} of {seed}"
            users = [place for place, name in enumerate(answers[0].columns) if name == "user_name"]
            assert {row[users[0]] for row in daily} == {row[users[0]] for row in full} if users else True
            assert bool(daily) == bool(full), f"{question} {given} of {seed}"
            without += len(daily) - len(whole)
    assert without > 5


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    outs = {mode: tmp_path_factory.mktemp("month") / mode for mode in ("full", "daily")}
    history = str(MONTH / "query_history.csv")
    for mode, out in outs.items():
        given = ("--query-history", history, "--outputs", "graph", "--reads", mode, "--account", "ACME-RETAIL")
        assert export([MONTH / "access_history.ndjson"], out, *given) == 0
    return outs


ASKED_OF_MONTH: Final[dict[str, Any]] = {
    "object_name": "RAW.CRM.CUSTOMERS",
    "column_name": "EMAIL",
    "object_id": "1029",
    "since": "2026-09-10",
    "at": "2026-09-20T12:00:00Z",
    "query_id": "none",
    "user_name": "MKELLER",
}


@pytest.mark.parametrize("question", SAME)
def test_company_month_answers_the_same(question: str, month: dict[str, Path]) -> None:
    stores = {mode: _month(out) for mode, out in month.items()}
    required = {one.name: [ASKED_OF_MONTH[one.name]] for one in found(question).parameters if one.required}
    full, daily = (told(stores[mode], question, required) for mode in ("full", "daily"))
    assert full == daily


@cache
def _month(out: Path) -> Store:
    return load(out)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["joins"], "joins leaves out queries that only read"),
        (["user-history"], "a row without query_id stands for"),
        (
            ["masking-policies", "--param", "since=2026-09-10T09:00:00Z"],
            "since and until are exact for reads at midnight",
        ),
        (["masking-policies", "--param", "since=2026-09-10"], ""),
        (["writers", "--param", "object_name=RAW.CRM.CUSTOMERS"], ""),
    ],
)
def test_the_command_says_what_the_graph_does_not_tell(
    arguments: list[str], word: str, month: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for mode, expected in (("full", ""), ("daily", word)):
        assert main(["query", *arguments, "--graph", str(month[mode])]) == 0
        said = capsys.readouterr().err
        assert expected in said
        assert ("reads by day" in said) == bool(expected)


@pytest.mark.parametrize(
    ("time", "is_midnight"),
    [
        ("2026-09-10", True),
        ("2026-09-10T00:00:00Z", True),
        ("2026-09-10 00:00", True),
        ("2026-09-10T00:00:00.000000Z", True),
        ("2026-09-10T00:00:00+00:00", True),
        ("2026-09-10T00:00:00+02:00", False),
        ("2026-09-10T10:00:00Z", False),
    ],
)
def test_where_a_day_begins(time: str, is_midnight: bool) -> None:  # noqa: FBT001 - what is expected
    said = ask(_one_read(), find("who-accessed"), {"since": time}).notes
    assert any("since and until are exact" in note for note in said) is not is_midnight


@cache
def _one_read() -> Store:
    store = Store()
    read, type_ = NamedNode("urn:read"), NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    store.add(Quad(read, type_, NamedNode("https://w3id.org/access-history#DailyRead")))
    return store


@pytest.mark.parametrize("mode", ["full", "daily"])
def test_a_query_that_read_masked_and_other_columns_is_one_row_of_its_table(mode: str, tmp_path: Path) -> None:
    """The reads of the day have a part for each; later ones are alike with one of these, or with neither."""
    table = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
    policy = {"policyName": "D.S.M", "policyId": 9, "policyKind": "MASKING_POLICY"}
    masked = {"policies_referenced": [{**table, "columns": [{"columnName": "A", "policies": [policy]}]}]}

    def read(hour: int, columns: str, more: Json) -> Json:
        what = [{**table, "columns": [{"columnName": name} for name in columns]}]
        time = f"2026-10-02T{hour:02}:00:00Z"
        arrays = {"direct_objects_accessed": what, "base_objects_accessed": what}
        return {"query_id": f"q{hour}", "query_start_time": time, "user_name": "SAM", **arrays, **more}

    rows = [read(10, "AB", masked), read(11, "AB", {}), read(12, "B", {})]
    given = ("--outputs", "graph", "--reads", mode, "--account", "ACME-PROD")
    assert export([ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", *given) == 0
    store = load(tmp_path / "out")

    def times(**asked: str) -> list[str]:
        answer = ask(store, found("when-accessed"), {"object_name": "D.S.T", **asked})
        return [str(row[1])[11:13] for row in answer.rows]

    assert times() == (["10", "11", "12"] if mode == "full" else ["10"])
    assert times(since="2026-10-02T10:30:00Z") == (["11", "12"] if mode == "full" else ["11"])


def test_a_query_of_several_tables_with_one_name_counts_once_for_each(tmp_path: Path) -> None:
    """Tables that were swapped: one query reads both, of which a day keeps that each was read."""
    one, other = (
        {"objectDomain": "Table", "objectId": n, "objectName": f"D.S.{name}"} for n, name in ((1, "A"), (2, "N"))
    )
    read = [{**table, "columns": [{"columnName": "C"}]} for table in (one, other)]
    to = {f"swapTarget{part}": {"value": other[f"object{part}"]} for part in ("Domain", "Id", "Name")}
    rows: list[Json] = [
        {"query_id": "q1", "direct_objects_accessed": read, "base_objects_accessed": read},
        {"query_id": "q2", "object_modified_by_ddl": {**one, "operationType": "ALTER", "properties": to}},
        {"query_id": "q3", "direct_objects_accessed": read[:1], "base_objects_accessed": read[:1]},
    ]
    told = [{**row, "user_name": "ANA", "query_start_time": f"2026-03-01T0{n}:00:00Z"} for n, row in enumerate(rows)]
    told[2] = {
        **told[2],
        **{name: [{**read[0], "objectName": "D.S.N"}] for name in told[2] if name.endswith("accessed")},
    }
    said = "counts once for each"
    for mode, counted in (("full", "2"), ("daily", "3")):
        given = ("--outputs", "graph", "--reads", mode, "--account", "ACME-PROD")
        assert export([ndjson(told, tmp_path / "rows.ndjson")], tmp_path / mode, *given) == 0
        store = load(tmp_path / mode)
        both = ask(store, found("column-readers"), {"object_name": "D.S.N", "column_name": "C"})
        assert [row[:2] for row in both.rows] == [("ANA", counted)]
        assert (said in " ".join(both.notes)) == (mode == "daily")
        alone = ask(store, found("column-readers"), {"object_id": "1", "column_name": "C"})
        assert [row[:2] for row in alone.rows] == [("ANA", "2")]
        assert said not in " ".join(alone.notes)


# --- masks that change within a day -----------------------------------------------------------------------------------

_UNMASK: Final = {"C": {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}}}
_ON_TAG: Final = {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "ADD"}}
_NOT_ON_TAG: Final = {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}
_MARK: Final = {"D.S.PII": {"objectId": {"value": 901}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}
_UNMARK: Final = {"D.S.PII": {"objectId": {"value": 901}, "subOperationType": "DROP"}}
_A, _COPY, _OTHER = thing("A", 1), thing("COPY", 2), thing("OTHER", 3)
_POLICY, _TAG = thing("MASK", 900, "Masking Policy", ()), thing("PII", 901, "Tag", ())
_AROUND_SCHEMA, _OF_POLICIES = (
    {"objectDomain": "Schema", "objectId": number, "objectName": name} for number, name in ((50, "D.S"), (51, "G.P"))
)
_SET_OTHER: Final = {"C": {"maskingPolicies": {"G.P.MASK": {"objectId": {"value": 902}, "subOperationType": "ADD"}}}}
_TAGGED: Final = [changed(_TAG, maskingPolicies=_ON_TAG), changed(_A, columns={"C": {"tags": _MARK}})]
_BOTH: Final = {"unmasked-reads", "unmasked-copies"}
_NEVER: Final[tuple[str, set[str]]] = ("", set())
_READS_OF_A: Final = ("A", {"unmasked-reads"})
_READS_OF_COPY: Final = ("COPY", {"unmasked-copies"})
_AROUND: Final[dict[str, tuple[list[Json], tuple[str, set[str]]]]] = {
    # none at the first and the last read
    "set-between": (
        [read(_A), changed(_A, columns=SET_MASK), read(_A), changed(_A, columns=_UNMASK), read(_A)], _READS_OF_A,
    ),
    "set-before": ([changed(_A, columns=SET_MASK), read(_A), read(_A), changed(_A, columns=_UNMASK)], _NEVER),
    "set-after": ([read(_A), read(_A), changed(_A, columns=SET_MASK)], _NEVER),
    "enforced": ([read(_A, masked=True), changed(_A, columns=SET_MASK), read(_A, masked=True)], _NEVER),
    "on-the-copy": (
        [
            changed(_A, columns=SET_MASK), copied(_A, _COPY), changed(_COPY, columns=SET_MASK), read(_COPY),
            changed(_COPY, columns=_UNMASK), read(_COPY), changed(_COPY, columns=SET_MASK), read(_COPY),
        ],
        ("COPY", _BOTH),
    ),
    # a policy, a tag or a schema that is dropped and brought back
    "policy-dropped": (
        [
            changed(_A, columns=SET_MASK), read(_A), changed(_POLICY, "DROP"), read(_A), changed(_POLICY, "UNDROP"),
            read(_A),
        ],
        _READS_OF_A,
    ),
    "policy-dropped-later": (
        [changed(_A, columns=SET_MASK), read(_A), read(_A), changed(_POLICY, "DROP"), changed(_POLICY, "UNDROP")],
        _NEVER,
    ),
    "policy-of-a-tag-dropped": (
        [*_TAGGED, read(_A), changed(_POLICY, "DROP"), read(_A), changed(_POLICY, "UNDROP"), read(_A)], _READS_OF_A,
    ),
    "policy-that-was-only-enforced-dropped": (
        [
            read(_A, masked=True), read(_A), changed(_POLICY, "DROP"), read(_A), changed(_POLICY, "UNDROP"), read(_A),
        ],
        _READS_OF_A,
    ),
    "tag-dropped": (
        [*_TAGGED, read(_A), changed(_TAG, "DROP"), read(_A), changed(_TAG, "UNDROP"), read(_A)], _READS_OF_A,
    ),
    "schema-of-the-policy-dropped": (
        [
            changed(_A, columns=_SET_OTHER), read(_A), changed(_OF_POLICIES, "DROP"), read(_A),
            changed(_OF_POLICIES, "UNDROP"), read(_A),
        ],
        _READS_OF_A,
    ),
    "tag-of-the-schema": (
        [
            changed(_TAG, maskingPolicies=_ON_TAG), changed(_AROUND_SCHEMA, tags=_MARK), read(_A, masked=True),
            changed(_AROUND_SCHEMA, tags=_UNMARK), read(_A), changed(_AROUND_SCHEMA, tags=_MARK), read(_A),
            changed(_AROUND_SCHEMA, tags=_UNMARK), read(_A),
        ],
        _READS_OF_A,
    ),
    # what was read is a copy of what was masked
    "on-the-source": (
        [
            copied(_A, _COPY), read(_COPY), changed(_A, columns=SET_MASK), read(_COPY), changed(_A, columns=_UNMASK),
            read(_COPY),
        ],
        _READS_OF_COPY,
    ),
    "on-the-source-until-now": (
        [copied(_A, _COPY), read(_COPY), changed(_A, columns=SET_MASK), read(_COPY), read(_COPY)], _NEVER,
    ),
    "on-the-source-of-the-source": (
        [
            copied(_A, _OTHER), copied(_OTHER, _COPY), read(_COPY), changed(_A, columns=SET_MASK), read(_COPY),
            changed(_A, columns=_UNMASK), read(_COPY),
        ],
        _READS_OF_COPY,
    ),
    "on-what-is-not-copied": (
        [
            copied(_OTHER, _COPY), read(_COPY), changed(_A, columns=SET_MASK), read(_COPY),
            changed(_A, columns=_UNMASK), read(_COPY),
        ],
        _NEVER,
    ),
    "on-a-tag-of-the-source": (
        [
            copied(_A, _COPY), changed(_A, columns={"C": {"tags": _MARK}}), read(_COPY),
            changed(_TAG, maskingPolicies=_ON_TAG), read(_COPY), changed(_TAG, maskingPolicies=_NOT_ON_TAG),
            read(_COPY),
        ],
        _READS_OF_COPY,
    ),
    "policy-of-the-source-dropped": (
        [
            copied(_A, _COPY), changed(_A, columns=SET_MASK), changed(_POLICY, "DROP"), read(_COPY),
            changed(_POLICY, "UNDROP"), read(_COPY), changed(_POLICY, "DROP"), read(_COPY),
        ],
        _READS_OF_COPY,
    ),
    "policy-of-the-copy-dropped": (
        [
            copied(_A, _COPY), changed(_A, columns=_SET_OTHER), changed(_COPY, columns=SET_MASK), read(_COPY),
            changed(_POLICY, "DROP"), read(_COPY), changed(_POLICY, "UNDROP"), read(_COPY),
        ],
        ("COPY", _BOTH),
    ),
}  # fmt: skip
"""What was told of which table, and by which questions."""


@pytest.mark.parametrize("story", _AROUND)
def test_reads_between_the_first_and_the_last_of_a_day_are_told_where_masks_changed(story: str, tmp_path: Path) -> None:
    """Each query of a story is a minute later, on one day: alike reads of a user are one node with two times."""
    rows, (name, told_by) = _AROUND[story]
    full, daily = (stories.told({"one": rows}, tmp_path, "--replace", "--reads", mode) for mode in ("full", "daily"))
    for question in sorted(_BOTH):
        whole, by_day = asked(question, full), asked(question, daily)
        assert not any("masks were set or ended" in note for note in whole.notes)
        notes = [note for note in by_day.notes if "masks were set or ended" in note]
        assert [f": D.S.{name} on 2026-01-01. A graph" in note for note in notes] == [True] * (question in told_by)
        if question not in told_by:
            assert {row[-1] for row in whole.rows} == {row[-1] for row in by_day.rows}


@pytest.mark.parametrize("story", ["set-between", "on-the-copy"])
def test_an_answer_that_such_a_change_cannot_concern_does_not_tell_it(story: str, tmp_path: Path) -> None:
    """No agent read, or another column is asked for."""
    daily = stories.told({"one": _AROUND[story][0]}, tmp_path, "--reads", "daily")
    for question, given in (("agent-reads", {}), ("unmasked-reads", {"column_name": "B"})):
        assert not any("masks were set or ended" in note for note in asked(question, daily, **given).notes)


def test_reads_of_an_agent_between_two_others_are_told(tmp_path: Path) -> None:
    rows = [{**row, "agents_info": [AGENTS[0]]} for row in _AROUND["set-between"][0]]
    daily = stories.told({"one": rows}, tmp_path, "--reads", "daily")
    for given, is_told in (({}, True), ({"agent_name": "D.S.HELPER"}, True), ({"agent_name": "D.S.OTHER"}, False)):
        assert any("masks were set or ended" in note for note in asked("agent-reads", daily, **given).notes) == is_told
