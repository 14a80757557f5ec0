"""The cache that renders a statement once does not change any text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.engines import local
from exporter.input.reading import Record
from exporter.pipeline import recurring
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import To
from tests.histories import Json, histories, random_history

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

JOB = ExportJob("ACME-PROD", "snowflake://ACME-PROD/", syntaxes=("turtle", "ntriples", "jsonld"))


def again(rows: Iterable[Json], times: int) -> list[Json]:
    """Each statement run so often: every run is a query of its own, a day later."""
    return [
        {**row, "query_id": f"{row['query_id']} {run}", "query_start_time": f"2026-04-{run + 1:02} 08:00:{at % 60:02}"}
        for run in range(times)
        for at, row in enumerate(rows)
    ]


def told(rows: Iterable[Json], job: ExportJob) -> dict[str, Counter[str]]:
    """By output, the texts of nodes and events, without what stands around them in files."""
    records = [Record("rows", 0, "line", orjson.dumps(row).decode()) for row in rows]
    found: dict[str, Counter[str]] = {}
    for message in local.export_records(records, job):
        if message.to == To.EVENTS or message.to.startswith(To.GRAPH):
            found.setdefault(message.to, Counter()).update(_texts(message.to, message.body.decode()))
    return found


def _texts(to: str, text: str) -> list[str]:
    if to == f"{To.GRAPH}-ttl":
        return [block.strip() for block in text.split("\n\n") if not block.strip().startswith("@base")]
    return [
        line.removeprefix(",") for line in text.split("\n") if not line.startswith(('{"@context"', '"@graph"', "]}"))
    ]


@settings(max_examples=40)
@given(histories(8), st.integers(2, 4))
def test_texts_are_the_same_with_and_without_it(rows: list[Json], times: int) -> None:
    every = again(rows, times)
    assert told(every, replace(JOB, in_order=False)) == told(every, JOB)


def test_it_is_what_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[Any] = []
    fill = recurring.Recurring.filled

    def counted(self: recurring.Recurring, told: Any) -> Any:
        found = fill(self, told)
        filled.append(found)
        return found

    monkeypatch.setattr(recurring.Recurring, "filled", counted)
    told(again(random_history(1, 20), 4), replace(JOB, in_order=False))
    remembered = sum(found is not None for found in filled)
    assert remembered > len(filled) / 3


def test_sources_are_in_one_order_whatever_versions_they_have() -> None:
    """A statement fills one column from two of a table, of which some runs see one recorded version, others two."""
    table = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.ORDERS"}
    sources = [{**table, "columnName": name} for name in ("AMOUNT", "VAT")]
    total = {"columnName": "TOTAL", "columnId": 20, "directSources": sources}
    target = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.TOTALS", "columns": [total]}

    def row(number: int, read: list[Json], written: Json) -> Json:
        return {
            "query_id": f"q-{number}",
            "query_start_time": f"2026-04-01 08:00:{number:02}",
            "user_name": "ETL",
            "direct_objects_accessed": read,
            "base_objects_accessed": read,
            "objects_modified": [written],
        }

    def loads(column: str) -> Json:
        return {**table, "columns": [{"columnName": column, "columnId": 10}]}

    read = [{**table, "columns": [{"columnName": name} for name in ("AMOUNT", "VAT")]}]
    rows = [row(0, [], loads("AMOUNT")), *(row(number, read, target) for number in (1, 2, 3)), row(4, [], loads("VAT"))]
    rows += [row(number, read, target) for number in (5, 6)]
    assert told(rows, replace(JOB, in_order=False)) == told(rows, JOB)
    turtle = "\n".join(told(rows, JOB)[f"{To.GRAPH}-ttl"])
    derived = re.findall(r"prov:wasDerivedFrom <(table/1/\S+)> , <(table/1/\S+)>", turtle)
    assert derived
    assert {tuple(iri.rpartition("/")[2] for iri in pair) for pair in derived} == {("AMOUNT", "VAT")}


def test_a_text_with_its_marks_is_not_remembered() -> None:
    thing = {
        "objectDomain": "Table",
        "objectId": 1,
        "objectName": 'D.S."\ue0000\ue000"',
        "columns": [{"columnName": "A"}],
    }
    row = {"query_id": "q", "user_name": "U", "direct_objects_accessed": [thing], "objects_modified": [thing]}
    every = again([row], 5)
    assert told(every, replace(JOB, in_order=False)) == told(every, JOB)
