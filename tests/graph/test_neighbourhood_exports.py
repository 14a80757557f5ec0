"""Shapes of a steward that look around an object: an export has the same results as ``exporter validate`` on the
whole graph, and quarantines the statement that broke a rule.
"""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import RdfFormat, Triple, parse

from exporter.engines import local
from exporter.graph.shapes import by_pyshacl
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.reading import compiled, shapes_graph
from exporter.input.reading import Record
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import To
from exporter.pipeline.outcome import read_outcome
from tests import exports
from tests.input.bad_rows import GOOD
from tests.stewards import FURTHER, MY, RULES, history, turtle

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exporter.graph.shapes.on_graph import Result
    from tests.histories import Json

JOB: Final = ExportJob("ACME-PROD", "snowflake://ACME-PROD/")


# --- the same as in the whole graph -----------------------------------------------------------------------------------


def in_export(rows: Iterable[Json], shapes: Path) -> list[tuple[Any, ...]]:
    """What an export with these shapes finds: all but the words of messages."""
    records = [Record("/rows", 0, "line", json.dumps(row)) for row in rows]
    made = list(local.export_records(records, ExportJob(JOB.account, JOB.base, shapes=(str(shapes),))))
    (total,) = (one.body for one in made if one.to == To.TOTAL)
    return without_words(read_outcome(total, [one.body for one in made if one.to == To.RESULT]).results)


def graph_of(rows: Iterable[Json]) -> list[Triple]:
    """The graph of an export without these shapes, with the class hierarchy."""
    records = [Record("/rows", 0, "line", json.dumps(row)) for row in rows]
    text = b"".join(one.body for one in local.export_records(records, JOB) if one.to == "graph-ttl")
    return [*(one.triple for one in parse(text, format=RdfFormat.TURTLE)), *hierarchy()]


def in_graph(graph: list[Triple], shapes: Path) -> list[tuple[Any, ...]]:
    """What pySHACL finds in the whole graph."""
    return without_words(by_pyshacl.validate(graph, shapes_graph([shapes], own=())))


def without_words(results: list[Result]) -> list[tuple[Any, ...]]:
    return sorted((one[:5] for one in results), key=str)


@cache
def random_history(seed: int) -> tuple[list[Json], list[Triple]]:
    """Rows, and their whole graph; made once for all rules."""
    rows = history(Random(seed), 30)
    return rows, graph_of(rows)


@pytest.mark.parametrize("name", RULES)
def test_an_export_finds_what_pyshacl_finds_in_the_whole_graph(name: str, tmp_path: Path) -> None:
    """Each rule by itself, so that none leans on nodes that another asked for."""
    shapes = tmp_path / "rule.ttl"
    shapes.write_text(turtle(RULES[name], severity="Warning"), encoding="utf-8")
    for seed in range(6):
        rows, graph = random_history(seed)
        assert in_export(rows, shapes) == in_graph(graph, shapes), f"seed {seed}"


def test_each_rule_is_kept_and_broken(tmp_path: Path) -> None:
    """Else the test above would show less than it says."""
    shapes = tmp_path / "all.ttl"
    shapes.write_text(turtle(*RULES.values(), severity="Info"), encoding="utf-8")
    broken = {seed: {one[1] for one in in_export(history(Random(seed), 30), shapes)} for seed in range(12)}
    every = {one.name for one in compiled(shapes_graph([shapes], own=())).targeted}
    assert set().union(*broken.values()) == every
    assert len(every) == len(RULES)


@pytest.mark.parametrize("name", FURTHER)
def test_a_rule_that_looks_further_is_refused_with_a_message(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule, words = FURTHER[name]
    (tmp_path / "rules.ttl").write_text(turtle(rule), encoding="utf-8")
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--shapes", str(tmp_path / "rules.ttl")) == 2
    said = " ".join(capsys.readouterr().err.split()).replace(MY, "my:")
    assert words in said
    assert "exporter validate --shapes" in said
    assert not (tmp_path / "out").exists()


# --- who is held back -------------------------------------------------------------------------------------------------


TABLE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
COLUMN: Final = {"columnName": "A", "columnId": 11}
TAG: Final = {"objectId": {"value": 7}, "subOperationType": "ADD", "tagValue": "sensitive"}
MASK: Final = {"objectId": {"value": 8}, "subOperationType": "ADD"}


def row(query_id: str, at: str, **columns: Any) -> Json:
    return {
        **GOOD,
        "direct_objects_accessed": [],
        "base_objects_accessed": [],
        "query_id": query_id,
        "query_start_time": f"2026-03-01 {at} +0000",
        **columns,
    }


def ddl(query_id: str, at: str, **properties: Any) -> Json:
    return row(query_id, at, object_modified_by_ddl={**TABLE, "operationType": "ALTER", "properties": properties})


READ: Final = row("read", "08:00:00", direct_objects_accessed=[{**TABLE, "columns": [COLUMN]}])
TAGGED: Final = ddl("tagged", "09:00:00", tags={"D.S.PII": TAG})
MASKED: Final = ddl("masked", "10:00:00", columns={"A": {"maskingPolicies": {"D.S.MASK": MASK}}})
UNMASKED: Final = ddl(
    "unmasked", "11:00:00", columns={"A": {"maskingPolicies": {"D.S.MASK": {**MASK, "subOperationType": "DROP"}}}}
)
SENSITIVE: Final = RULES["a table tagged sensitive has a policy, whoever set it"]


def exported(rows: list[Json], rules: str, folder: Path, *options: str) -> tuple[int, set[str], set[str]]:
    """The exit code, the queries that were exported, and those that were set aside."""
    (folder / "rules.ttl").write_text(rules, encoding="utf-8")
    given = exports.ndjson(rows, folder / "rows.ndjson")
    code = exports.export([given], folder / "out", "--shapes", str(folder / "rules.ttl"), *options)
    aside = {json.loads(one["as_it_came"])["query_id"] for one in exports.quarantine(folder / "out")}
    said = {
        value.strip('"')
        for subject, predicate, value in exports.triples(folder / "out")
        if predicate.endswith("#queryId>") and subject.endswith(f"/{value.strip(chr(34))}>")
    }
    return code, said, aside


def test_a_tag_and_the_policy_that_another_statement_set(tmp_path: Path) -> None:
    rows = [READ, TAGGED, MASKED]
    assert exported(rows, turtle(SENSITIVE), tmp_path) == (0, {"read", "tagged", "masked"}, set())


def test_a_policy_that_was_taken_away_again_does_not_count(tmp_path: Path) -> None:
    rows = [READ, TAGGED, MASKED, UNMASKED]
    assert exported(rows, turtle(SENSITIVE), tmp_path) == (1, {"read", "masked", "unmasked"}, {"tagged"})


def test_the_statement_that_broke_the_rule_is_held_back_and_no_other(tmp_path: Path) -> None:
    assert exported([READ, TAGGED], turtle(SENSITIVE), tmp_path) == (1, {"read"}, {"tagged"})
    (aside,) = exports.quarantine(tmp_path / "out")
    assert f"shape {MY}TaggedHasPolicy" in aside["reason"]
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["quarantined"]) == (1, 1)
    assert report["violations"] == {f"{MY}TaggedHasPolicy": 1}
    assert "/query/tagged/change/alter/table/1/setting/tags/D.S.PII" in (tmp_path / "out/shacl-report.ttl").read_text()
    events = " ".join(exports.events(tmp_path / "out"))
    assert "read" in events
    assert "tagged" not in events


def test_a_rule_of_the_object_itself_holds_back_who_mentions_it(tmp_path: Path) -> None:
    other = row("other", "08:30:00", direct_objects_accessed=[{**TABLE, "objectId": 2, "objectName": "D.S.OTHER"}])
    tagged = ddl("other-tagged", "09:30:00", tags={"D.S.PII": TAG})
    tagged["object_modified_by_ddl"] |= {"objectId": 2, "objectName": "D.S.OTHER"}
    rule = turtle(RULES["a table has a tag"])
    found = exported([READ, MASKED, other, tagged], rule, tmp_path)
    assert found == (1, {"other", "other-tagged"}, {"read", "masked"})


def test_what_is_held_back_is_missing_to_other_rules(tmp_path: Path) -> None:
    """The policy's statement is refused by the exporter's own shapes, and then the tag's is: its policy is gone."""
    masked = {**MASKED, "parent_query_id": "masked"}
    assert exported([READ, TAGGED, masked], turtle(SENSITIVE), tmp_path) == (1, {"read"}, {"tagged", "masked"})


@pytest.mark.parametrize("severity", ["Warning", "Info"])
def test_less_than_a_violation_is_reported_once(severity: str, tmp_path: Path) -> None:
    """However many turns it takes: the exporter's own shapes refuse a query, and then another rule does."""
    refused = row("own-parent", "12:00:00", parent_query_id="own-parent")
    other = row("other", "12:30:00", direct_objects_accessed=[{**TABLE, "objectId": 2, "objectName": "D.S.OTHER"}])
    rules = turtle(SENSITIVE, severity=severity) + RULES["a table has a tag"]
    assert exported([READ, TAGGED, refused, other], rules, tmp_path) == (1, {"read", "tagged"}, {"own-parent", "other"})
    assert exports.report(tmp_path / "out")["warnings"] == {f"{MY}TaggedHasPolicy": 1}
    assert (tmp_path / "out" / "shacl-report.ttl").read_text().count(f"<{MY}TaggedHasPolicy>") == 1


@pytest.mark.parametrize(
    "shape",
    [
        "sh:path ah:settingOn ; sh:property [ sh:path ah:nameText ; sh:minCount 1 ]",
        "sh:path ah:value ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ]",
        "sh:path rdf:type ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ]",
    ],
)
def test_the_node_that_a_shape_targets_counts_and_not_one_on_its_paths(shape: str, tmp_path: Path) -> None:
    """The results are about another object, about a text, and about a class."""
    rule = f"my:Far a sh:PropertyShape ; sh:targetClass ah:TagSetting ; {shape} ."
    assert exported([READ, TAGGED, MASKED], turtle(rule), tmp_path) == (1, {"read", "masked"}, {"tagged"})


def test_a_place_that_two_accounts_name_is_one_object(tmp_path: Path) -> None:
    """It is the same node, so who mentions it is held back in both."""
    place = {"location": "s3://bucket/a"}
    accounts = ({"organization_name": "ORG", "account_name": name} for name in ("ONE", "TWO"))
    rows = [row(f"of-{one['account_name']}", "08:00:00", direct_objects_accessed=[place], **one) for one in accounts]
    rule = """my:Places a sh:PropertyShape ; sh:targetClass ah:Location ;
        sh:path [ sh:inversePath ah:settingOn ] ; sh:minCount 1 ."""
    assert exported([*rows, TAGGED], turtle(rule), tmp_path) == (1, {"tagged"}, {"of-ONE", "of-TWO"})


def test_without_validation_nothing_is_looked_at(tmp_path: Path) -> None:
    """As it is for all other shapes."""
    found = exported([READ, TAGGED], turtle(SENSITIVE), tmp_path, "--no-validate")
    assert found == (0, {"read", "tagged"}, set())


def test_rules_that_never_end_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each version is to come after one on record: the first does not, and without it the next is the first."""
    monkeypatch.setattr("exporter.pipeline.rounds.TURNS", 5)
    written = [row(f"q{at}", f"0{at}:00:00", objects_modified=[{**TABLE, "columns": [COLUMN]}]) for at in range(9)]
    rule = """my:AfterAnother a sh:PropertyShape ; sh:targetSubjectsOf ah:priorVersion ;
        sh:path ( ah:priorVersion prov:wasGeneratedBy ) ; sh:minCount 1 ."""
    (tmp_path / "rules.ttl").write_text(turtle(rule), encoding="utf-8")
    given = exports.ndjson(written, tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--shapes", str(tmp_path / "rules.ttl")) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"these shapes still refuse queries: {MY}AfterAnother. " in said
    assert not (tmp_path / "out").exists()


def test_an_update_says_that_it_cannot_look_around_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.ttl").write_text(turtle(SENSITIVE), encoding="utf-8")
    given = exports.ndjson([READ], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--shapes", str(tmp_path / "rules.ttl"), "--update") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{MY}TaggedHasPolicy: needs the surroundings of objects" in said
    assert "without --update" in said
