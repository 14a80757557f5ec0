"""Rows of a small account, and declarations as dbt and OpenLineage write them, by hand from their documented fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from exporter.cli import main
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
HERE: Final = "snowflake://acme-prod"


def thing(number: int, name: str, *columns: str, domain: str = "Table") -> Json:
    listed = {"columns": [{"columnName": one} for one in columns]} if columns else {}
    return {"objectDomain": domain, "objectId": number, "objectName": f"D.S.{name}", **listed}


def written(target: Json, columns: dict[str, list[tuple[Json, str]]], base: bool = False) -> Json:  # noqa: FBT001, FBT002 - a column of a row
    """The target, and of each of its columns the sources; ``base``: whether they are base sources, too."""
    listed = []
    for name, sources in columns.items():
        found = [{**{k: v for k, v in one.items() if k != "columns"}, "columnName": column} for one, column in sources]
        listed.append({"columnName": name, "directSources": found, "baseSources": found if base else []})
    return {**{k: v for k, v in target.items() if k != "columns"}, "columns": listed}


def row(query_id: str, day: int, direct: list[Json], base: list[Json] | None = None, **columns: Any) -> Json:
    return {
        "query_id": query_id,
        "query_start_time": f"2026-03-{day:02} 08:00:00Z",
        "user_name": "ETL",
        "direct_objects_accessed": direct,
        "base_objects_accessed": direct if base is None else base,
        **columns,
    }


def filled(query_id: str, day: int, target: Json, *sources: Json, **columns: list[tuple[Json, str]]) -> Json:
    """A query that fills a table from others, and the columns from those that are given."""
    return row(query_id, day, [*sources], objects_modified=[written(target, columns, base=True)])


def ddl(query_id: str, day: int, one: Json, operation: str, **properties: Any) -> Json:
    change = {**one, "operationType": operation, "properties": properties}
    return row(query_id, day, [], object_modified_by_ddl=change)


def made(rows: list[Json], folder: Path, *options: str) -> Path:
    """What an export of the rows leaves."""
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph", *options) == 0
    return folder / "out"


# --- declarations -----------------------------------------------------------------------------------------------------


def model(name: str, *parents: str, kind: str = "model", materialized: str = "table", **more: Any) -> Json:
    known = {"relation_name": None if materialized == "ephemeral" else f"d.s.{name}", **more}
    return {
        "resource_type": kind,
        "name": name,
        "config": {"materialized": materialized},
        "depends_on": {"macros": [], "nodes": list(parents)},
        "columns": {},
        **known,
    }


def manifest(
    nodes: dict[str, Json], sources: tuple[str, ...] = (), exposures: dict[str, Json] | None = None, **metadata: Any
) -> Json:
    """``nodes``: by the ends of their unique ids; ``sources``: names of tables in D.S."""
    told = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "adapter_type": "snowflake"}
    return {
        "metadata": {**told, "project_name": "p", **metadata},
        "nodes": {f"{one['resource_type']}.p.{name}": one for name, one in nodes.items()},
        "sources": {
            f"source.p.s.{name}": {"resource_type": "source", "name": name, "relation_name": f"d.s.{name}"}
            for name in sources
        },
        "exposures": exposures or {},
        "parent_map": {},
    }


def dataset(name: str, namespace: str = HERE, **facets: Any) -> Json:
    return {"namespace": namespace, "name": name, "facets": facets}


def column_lineage(fields: dict[str, list[tuple[str, str, str]]], *only_filter: tuple[str, str]) -> Json:
    """``fields``: column -> (dataset of this account, its column, DIRECT or INDIRECT)."""
    listed = {
        name: {
            "inputFields": [
                {"namespace": HERE, "name": one, "field": column, "transformations": [{"type": kind}]}
                for one, column, kind in sources
            ]
        }
        for name, sources in fields.items()
    }
    others = [{"namespace": HERE, "name": one, "field": column} for one, column in only_filter]
    return {"columnLineage": {"fields": listed, "dataset": others}}


def event(
    inputs: list[Json],
    outputs: list[Json],
    *,
    day: int = 10,
    kind: str = "COMPLETE",
    run: str = "r1",
    producer: str = "https://example.org/spark",
) -> Json:
    return {
        "eventTime": f"2026-03-{day:02}T08:00:00Z",
        "eventType": kind,
        "producer": producer,
        "run": {"runId": run},
        "job": {"namespace": "spark", "name": f"job_{run}"},
        "inputs": inputs,
        "outputs": outputs,
    }


def said(whole: Any, path: Path) -> Path:
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def compared(graph: Path, capsys: Any, *words: Any, code: int = 0) -> Json:
    """The JSON of ``exporter reconcile``."""
    capsys.readouterr()
    assert main(["reconcile", str(graph), *map(str, words), "--json"]) == code
    return dict(json.loads(capsys.readouterr().out))


def classes(found: Json) -> dict[tuple[str, str], str]:
    """(source, target) -> the class, with the reason of what is not known; columns follow a colon."""
    told = {}
    for one in found["edges"]:
        ends = [
            f"{end['name']}{':' + end['column'] if end['column'] else ''}" for end in (one["source"], one["target"])
        ]
        key = (ends[0].removeprefix("D.S."), ends[1].removeprefix("D.S."))
        assert key not in told, "an edge has one class"
        told[key] = one["class"] + (f" {one['reason']}" if one["class"] == "unknown" else "")
    return told
