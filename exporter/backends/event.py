"""An OpenLineage event as JSON: the datasets, columns and column lineage that it names, and events that have a part of
it: two halves that add up to it, the part without some datasets.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

Json = dict[str, Any]
LAST_EVENTS: Final = ("COMPLETE", "FAIL", "ABORT")
"""The types of the event that ends a run (OpenLineage, "The Run Cycle"). An event of a dataset has no type."""


class DatasetOrJob(NamedTuple):
    """A dataset or a job; a run has its id as the name and no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """The name for people."""
        return f"{self.namespace} {self.name}"


class ColumnEdge(NamedTuple):
    """A column of a dataset is made from the column of a source."""

    source: DatasetOrJob
    source_column: str
    target: DatasetOrJob
    column: str

    def __str__(self) -> str:
        return f"{self.source} {self.source_column} -> {self.target} {self.column}"


def datasets(event: Json) -> list[Json]:
    """All of an event's datasets."""
    single = [event["dataset"]] if "dataset" in event else []
    return [*single, *(event.get("inputs") or ()), *(event.get("outputs") or ())]


def thing_of(document: Json) -> DatasetOrJob:
    """The dataset or job that an object of an event names."""
    return DatasetOrJob(document["namespace"], document["name"])


def facet(document: Json, name: str) -> Json:
    """A facet of a dataset, job or run; empty where it has none of this name."""
    return (document.get("facets") or {}).get(name) or {}


def columns_of(dataset: Json) -> list[str]:
    """The columns that a dataset of an event lists."""
    return [str(column["name"]) for column in facet(dataset, "schema").get("fields") or ()]


def edges_of(dataset: Json) -> Iterator[ColumnEdge]:
    """The column lineage of a dataset of an event."""
    target = thing_of(dataset)
    for column, lineage in (facet(dataset, "columnLineage").get("fields") or {}).items():
        for source in lineage.get("inputFields") or ():
            yield ColumnEdge(thing_of(source), source["field"], target, column)


# --- parts of an event ------------------------------------------------------------------------------------------------

REPEATED_LINEAGE: Final = "lineage"
"""A facet that repeats the column lineage of ``columnLineage``."""


def text_of(event: Json) -> bytes:
    """The event as it is sent."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def halves(event: Json) -> tuple[Json, ...]:
    """Two events that add up to this one; empty where it cannot be split."""
    inputs, outputs = event.get("inputs") or [], event.get("outputs") or []
    if len(outputs) > 1:
        return tuple({**event, "outputs": part} for part in _two_halves(outputs))
    if len(inputs) > 1:
        return tuple(_with_inputs(event, part) for part in _two_halves(inputs))
    columns = list(facet(outputs[0], "columnLineage").get("fields") or {}) if outputs else []
    if len(columns) < 2:
        return ()
    return tuple({**event, "outputs": [_with_columns(outputs[0], part)]} for part in _two_halves(columns))


def _two_halves(things: list[Any]) -> tuple[list[Any], list[Any]]:
    middle = len(things) // 2
    return things[:middle], things[middle:]


def _with_columns(output: Json, columns: Collection[str]) -> Json:
    """The output with the lineage of these columns only."""
    facets = dict(output["facets"])
    for name in ("columnLineage", REPEATED_LINEAGE):
        if "fields" in facets.get(name, {}):
            fields = facets[name]["fields"].items()
            facets[name] = {**facets[name], "fields": {column: field for column, field in fields if column in columns}}
    return {**output, "facets": facets}


def without_datasets(event: Json, left_out: Collection[DatasetOrJob]) -> Json:
    """The event without these datasets, and without column lineage from them; the same object where it has none."""
    if not left_out:
        return event
    inputs, outputs = (
        [dataset for dataset in event.get(side) or [] if thing_of(dataset) not in left_out]
        for side in ("inputs", "outputs")
    )
    return _with_inputs({**event, "outputs": outputs}, inputs)


def _with_inputs(event: Json, inputs: list[Json]) -> Json:
    """The event with these inputs only, and with the column lineage from them."""
    sources, outputs = set(map(thing_of, inputs)), []
    for output in event["outputs"]:
        facets = dict(output.get("facets") or {})
        for name, key in (("columnLineage", "inputFields"), (REPEATED_LINEAGE, "inputs")):
            if name in facets:
                facets[name] = _of_sources(facets[name], key, sources)
        if not facets.get("columnLineage", {}).get("fields"):
            facets.pop("columnLineage", None)
        outputs.append({**output, "facets": facets})
    return {**event, "inputs": inputs, "outputs": outputs}


def _of_sources(lineage: Json, key: str, sources: set[DatasetOrJob]) -> Json:
    """A facet of sources by column, with the sources in these datasets only."""

    def own(references: list[Json]) -> list[Json]:
        return [reference for reference in references if (reference.get("namespace"), reference.get("name")) in sources]

    narrowed = lineage | {name: own(lineage[name]) for name in ("inputs", "dataset") if name in lineage}
    fields = {column: {**field, key: own(field[key])} for column, field in (lineage.get("fields") or {}).items()}
    if "fields" in lineage:
        narrowed["fields"] = {column: field for column, field in fields.items() if field[key]}
    return narrowed
