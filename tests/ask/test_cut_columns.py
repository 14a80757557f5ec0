"""Columns of text that Snowflake cut: nothing is named after what it writes in their place, the query says what is
missing, and so do the answers that need it (view, "Truncated records"; docs/input.md).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import Graph
from exporter.serve.site import PAGE_QUESTIONS
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
TABLE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.A"}
PARENT, ROOT, ORGANIZATION, ACCOUNT = "parent_query_id", "root_query_id", "organization_name", "account_name"
CHILDREN: Final = str(PAGE_QUESTIONS / "page-query-children.rq")
PLACEHOLDERS: Final = ("TRUNCATED", "-1", -1)
MISSING: Final = ("", " ", None)


def read(number: int, **others: Any) -> Json:
    """Query ``qN`` of the Nth of March."""
    start = f"2026-03-{number:02}T06:00:00Z"
    return {"query_id": f"q{number}", "query_start_time": start, "user_name": "ANA",
            "direct_objects_accessed": [TABLE], "base_objects_accessed": [TABLE], **others}  # fmt: skip


def exported(folder: Path, rows: list[Json], *options: str) -> Path:
    given = [exports.ndjson(rows, folder / "rows.ndjson")]
    assert exports.export(given, folder / "out", "--account", "ACME-PROD", *options) == 0
    return folder / "out"


def asked(out: Path, question: str, **given: str) -> Answer:
    with Graph(out) as opened:
        return opened.ask(question, **given)


def of_query(out: Path, number: int, term: str) -> set[str]:
    """The values of a term of the query ``qN``."""
    triples = [tuple(map(str, triple)) for triple in exports.triples(out)]
    return {
        end.strip('"') for begin, verb, end in triples if f"/query/q{number}>" in begin and verb.endswith(f"{term}>")
    }


def of_request(**columns: Any) -> list[Json]:
    """A procedure call q1 with the statement q2, another request q3, and a query q4 with these columns."""
    called = {PARENT: "q1", ROOT: "q1"}
    return [read(1), read(2, **called), read(3), read(4, **columns)]


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
@pytest.mark.parametrize("names", [(PARENT,), (ROOT,), (PARENT, ROOT)])
def test_no_query_is_called_as_what_stands_for_a_cut_one(
    names: tuple[str, ...], placeholder: Any, tmp_path: Path
) -> None:
    out = exported(tmp_path, of_request(**{PARENT: "q1", ROOT: "q1", **dict.fromkeys(names, placeholder)}))
    assert of_query(out, 4, "#incomplete") == {f"{name} TRUNCATED" for name in names}
    assert exports.report(out)["truncated"] == 1
    assert not [one for triple in exports.triples(out) for one in map(str, triple) if "UnrecordedQuery" in one]
    rows = {row["query_id"]: row for row in asked(out, "ancestors").dicts()}
    assert [rows["q4"][name] for name in (PARENT, ROOT)] == [None if name in names else "q1" for name in (PARENT, ROOT)]
    for event in map(json.loads, exports.events(out)):
        facets = event.get("run", {}).get("facets", {})
        if facets.get("externalQuery", {}).get("externalQueryId") == "q4":
            assert ("parent" in facets) == (PARENT not in names)
            assert "root" not in facets.get("parent", {})
            if event["eventType"] == "COMPLETE":
                assert facets["accessHistory_incompleteness"]["places"] == [f"{name} TRUNCATED" for name in names]
            named = {name for name in ("parentQueryId", "rootQueryId") if name in facets["accessHistory_query"]}
            assert len(named) == 2 - len(names)


def cut(*names: str) -> str:
    return f"1 query was cut by Snowflake ({', '.join(names)}), so the answer may lack what it did; the first is q4."


def test_answers_about_requests_say_what_was_cut(tmp_path: Path) -> None:
    out = exported(tmp_path, of_request(**{PARENT: "TRUNCATED", ROOT: "TRUNCATED"}))
    assert cut(PARENT, ROOT) in asked(out, "ancestors").notes
    assert cut(PARENT) in asked(out, "statements-of-request", query_id="q1").notes
    assert asked(out, "statements-of-request", query_id="q3").notes == [cut(PARENT)]
    assert not any("Snowflake (" in note for note in asked(out, "ancestors", until="2026-03-03").notes)
    assert not any("Snowflake (" in note for note in asked(out, "who-accessed", object_name="D.S.A").notes)
    on_page = {ident: asked(out, CHILDREN, query_id=ident).notes for ident in ("q1", "q4")}
    assert on_page == {"q1": [cut(PARENT)], "q4": []}


def test_a_statement_of_another_or_a_later_request_is_not_missing(tmp_path: Path) -> None:
    """A statement starts after its request does, and has its root."""
    out = exported(tmp_path, [*of_request(**{PARENT: "TRUNCATED", ROOT: "q3"}), read(5)])
    assert cut(PARENT) in asked(out, "statements-of-request", query_id="q3").notes
    for other in ("q1", "q2", "q5"):
        assert cut(PARENT) not in asked(out, "statements-of-request", query_id=other).notes


def test_a_parent_that_another_row_of_the_query_has_is_not_missing(tmp_path: Path) -> None:
    out = exported(tmp_path, [*of_request(**{PARENT: "TRUNCATED"}), read(4, **{PARENT: "q3"})])
    assert of_query(out, 4, "#incomplete") == set()
    assert [row["parent_query_id"] for row in asked(out, "ancestors").dicts() if row["query_id"] == "q4"] == ["q3"]


@pytest.mark.parametrize("blank", MISSING)
def test_a_query_without_a_parent_or_an_account_lacks_nothing(blank: str | None, tmp_path: Path) -> None:
    out = exported(tmp_path, of_request(**dict.fromkeys((PARENT, ROOT, ORGANIZATION, ACCOUNT), blank)))
    assert of_query(out, 4, "#incomplete") == set()
    assert exports.report(out)["truncated"] == 0
    assert of_query(out, 4, "#account") == {"<snowflake://ACME-PROD/account>"}


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
@pytest.mark.parametrize("names", [(ACCOUNT,), (ORGANIZATION,), (ACCOUNT, ORGANIZATION)])
def test_no_account_is_called_as_what_stands_for_a_cut_one(
    names: tuple[str, ...], placeholder: Any, tmp_path: Path
) -> None:
    given = {ORGANIZATION: "OTHER", ACCOUNT: "SALES", "account_locator": "AB1"}
    rows = [read(1, **given), read(4, **{**given, **dict.fromkeys(names, placeholder)})]
    out = exported(tmp_path, rows)
    terms = {str(term) for triple in exports.triples(out) for term in triple}
    assert {term for term in terms if term.endswith("/account>")} == {
        f"<snowflake://{name}/account>" for name in ("ACME-PROD", "OTHER-SALES")
    }
    assert of_query(out, 4, "#account") == {"<snowflake://ACME-PROD/account>"}
    assert of_query(out, 4, "#incomplete") == {f"{name} TRUNCATED" for name in names}
    assert exports.report(out)["truncated"] == 1
    # Which account has the locator of the row is not known, nor whether ACME-PROD belongs to OTHER.
    about = [tuple(map(str, triple)) for triple in exports.triples(out)]
    of_account = {
        verb.rpartition("#")[2]: end for begin, verb, end in about if begin == "<snowflake://ACME-PROD/account>"
    }
    assert "accountLocator>" not in of_account
    assert of_account["memberOf>"] == "<snowflake://ACME/organization>"
    note = cut(*names).replace("did;", "did, or have it as of another account;")
    assert note in asked(out, "who-accessed", object_name="D.S.A").notes
    assert note in asked(out, "user-history").notes
    assert note not in asked(out, "user-history", until="2026-03-02").notes


@pytest.mark.parametrize("reads", ["daily", "full"])
def test_a_read_that_was_cut_keeps_its_node(reads: str, tmp_path: Path) -> None:
    out = exported(tmp_path, of_request(**{PARENT: "TRUNCATED"}), "--reads", reads)
    assert of_query(out, 4, "#incomplete") == {"parent_query_id TRUNCATED"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("event_source", "TRUNCATED"),
        ("account_locator", "TRUNCATED"),
        ("account_locator", "-1"),
        ("additional_properties", "TRUNCATED"),
        ("additional_properties", {"irc_event_type": "TRUNCATED"}),
        ("invoker_identity", "TRUNCATED"),
        ("query_parameterized_hash", "TRUNCATED"),
    ],
)
def test_every_column_that_was_cut_is_told(name: str, value: Any, tmp_path: Path) -> None:
    rows = [read(4, **{name: value})]
    options: tuple[str, ...] = ()
    if name == "query_parameterized_hash":
        calls = {**rows[0], name: value, "calls": 2, "interval_start_time": "2026-03-04T06:00:00Z",
                 "interval_end_time": "2026-03-04T06:01:00Z"}  # fmt: skip
        del calls["query_id"], calls["query_start_time"]
        options = ("--aggregate", str(exports.ndjson([calls], tmp_path / "calls.ndjson")))
        rows = [read(1)]
    out = exported(tmp_path, rows, *options)
    assert exports.report(out)["truncated"] == 1
    ends = {str(end).strip('"') for _, verb, end in exports.triples(out) if str(verb).endswith("#incomplete>")}
    assert ends == {f"{name} TRUNCATED"}
    is_json = isinstance(value, dict)
    others = {str(end) for _, verb, end in exports.triples(out) if not str(verb).endswith("#incomplete>")}
    assert is_json or not any("TRUNCATED" in end or end == '"-1"' for end in others)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"query_id": "TRUNCATED"}, "query_id was cut by Snowflake (TRUNCATED)"),
        ({"query_id": -1}, "query_id was cut by Snowflake (-1)"),
        ({"query_start_time": -1}, "query_start_time cannot be read as a time: -1"),
    ],
)
def test_a_row_without_the_columns_that_always_survive_is_set_aside(columns: Json, reason: str, tmp_path: Path) -> None:
    """Without its id, rows of several queries would be one query. A user can have such a name."""
    out = exported(tmp_path, [read(1), read(2, **columns), read(3, **columns)])
    assert [one["reason"] for one in exports.quarantine(out)] == [reason] * 2
    assert exports.report(out)["exported"] == 1


AGENT: Final = {"agentType": "CORTEX_AGENT", "agentId": 1, "agentName": "D.S.ONE"}


@pytest.mark.parametrize(
    ("question", "given", "columns"),
    [
        ("statements-of-request", {"query_id": "q1"}, None),
        ("statements-of-request", {"query_id": "q2"}, PARENT),
        ("statements-of-request", {"query_id": "q3"}, None),
        ("ancestors", {}, f"{PARENT}, {ROOT}"),
        ("ancestors", {"since": "2026-03-05"}, None),
        ("agent-reads", {}, "agents_info"),
        ("who-accessed", {"object_id": "1"}, None),
    ],
)
def test_of_values_that_contradict_each_other_the_answer_has_one(
    question: str, given: dict[str, str], columns: str | None, tmp_path: Path
) -> None:
    """docs/input.md, "Duplicates": a query has one parent, one root, one list of agents."""
    one = read(4, **{PARENT: "q1", ROOT: "q1", "agents_info": [AGENT]})
    other = read(4, **{PARENT: "q2", ROOT: "q3", "agents_info": [{**AGENT, "agentId": 2, "agentName": "D.S.TWO"}]})
    out = exported(tmp_path, [read(1), read(2), read(3), one, other, read(6)])
    with Graph(out) as graph:
        notes = [note for note in graph.ask(question, **given).notes if "different values" in note]
    assert notes == (
        [f"1 query has rows with different values of {columns}: the answer has one of them; the first is q4."]
        if columns
        else []
    )
