"""Which kinds of objects are datasets, from rows to events (docs/openlineage.md, "Datasets, and what is none")."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from exporter.model.identifiers import DATA_KINDS, holds_data, kind_of
from exporter.model.incomplete import KNOWN_DOMAINS
from tests import exports
from tests.openlineage import told
from tests.pages import text

Json = dict[str, Any]
TAG: Final = {"objectName": "D.S.G", "objectId": 99, "subOperationType": "ADD", "tagValue": "x"}
SOURCE: Final = {"objectDomain": "Table", "objectId": 4, "objectName": "D.S.SRC", "columns": [{"columnName": "X"}]}


def story(domain: str, ident: int | None) -> list[Json]:
    """An object is made and tagged in one row, read, renamed and dropped."""
    named = {"objectDomain": domain, "objectId": ident, "objectName": "D.S.O"}
    made = {**named, "operationType": "CREATE", "properties": {"tags": [TAG], "comment": "c"}}
    renamed = {**named, "operationType": "ALTER", "properties": {"objectName": "D.S.P"}}
    dropped = {**named, "objectName": "D.S.P", "operationType": "DROP", "properties": {}}
    rows: list[Json] = [
        {
            "direct_objects_accessed": [SOURCE],
            "objects_modified": [{**named, "columns": [{"columnName": "E"}]}],
            "object_modified_by_ddl": made,
        },
        {"direct_objects_accessed": [{**named, "columns": [{"columnName": "E"}]}]},
        {"object_modified_by_ddl": renamed},
        {"object_modified_by_ddl": dropped},
    ]
    return [
        {"query_id": f"q{number}", "query_start_time": f"2026-03-0{number}T08:00:00Z", "user_name": "U", **row}
        for number, row in enumerate(rows, 1)
    ]


@pytest.mark.parametrize("ident", [13, None])
@pytest.mark.parametrize("domain", ["INTERACTIVE TABLE", "SEMANTIC VIEW", "Model", "DATASET", "New thing", "Table"])
def test_what_is_not_known_to_hold_no_data_is_told_like_a_table(domain: str, ident: int | None) -> None:
    events = [json.loads(one) for one in told.texts(story(domain, ident))]
    datasets = {event["dataset"]["name"]: event["dataset"]["facets"] for event in events if "dataset" in event}
    runs = {told.query_id(event): event for event in events if event.get("eventType") == "COMPLETE"}
    outputs = {query: {one["name"]: one["facets"] for one in event["outputs"]} for query, event in runs.items()}
    assert {"D.S.SRC", "D.S.O", "D.S.P"} == set(datasets)
    assert datasets["D.S.O"]["schema"]["fields"] == [{"name": "E", "type": "UNKNOWN"}]
    described = {query: event["job"]["facets"]["documentation"]["description"] for query, event in runs.items()}
    assert described == {
        "q1": "create D.S.O from D.S.SRC",
        "q2": "read D.S.O",
        "q3": "rename D.S.O to D.S.P",
        "q4": "drop D.S.P",
    }
    states = {
        query: {name: one["lifecycleStateChange"]["lifecycleStateChange"] for name, one in each.items()}
        for query, each in outputs.items()
    }
    renamed = {"D.S.O": "DROP", "D.S.P": "RENAME"}
    assert states == {"q1": {"D.S.O": "CREATE"}, "q2": {}, "q3": renamed, "q4": {"D.S.P": "DROP"}}
    before = outputs["q3"]["D.S.P"]["lifecycleStateChange"]["previousIdentifier"]
    assert before == {"namespace": f"snowflake://{exports.ACCOUNT}", "name": "D.S.O"}
    assert outputs["q1"]["D.S.O"]["tags"]["tags"] == [{"key": "D.S.G", "value": "x", "source": "SNOWFLAKE"}]
    assert outputs["q1"]["D.S.O"]["documentation"]["description"] == "c"


def test_each_domain_that_was_known_is_decided() -> None:
    decided = {domain: holds_data(kind_of(domain)) for domain in KNOWN_DOMAINS}
    assert {kind_of(domain) for domain, is_data in decided.items() if is_data} <= set(DATA_KINDS)
    assert all(map(holds_data, DATA_KINDS))


def test_the_page_names_the_kinds_without_data() -> None:
    rule = text("docs/openlineage.md").partition("### Datasets, and what is none")[2].partition("\n### ")[0].lower()
    for domain in KNOWN_DOMAINS:
        last = domain.lower().rpartition(" ")[2]
        if not holds_data(kind_of(domain)):
            assert f"{last}s" in rule or f"{last[:-1]}ies" in rule, domain
