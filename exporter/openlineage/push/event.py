"""An OpenLineage event as JSON: the datasets, columns and column lineage that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


class Thing(NamedTuple):
    """A dataset or a job; a run has its id as the name and no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """The name for people."""
        return f"{self.namespace} {self.name}"


class ColumnEdge(NamedTuple):
    """A column of a dataset is made from the column of a source."""

    source: Thing
    source_column: str
    target: Thing
    column: str

    def __str__(self) -> str:
        return f"{self.source} {self.source_column} -> {self.target} {self.column}"


def datasets(event: Json) -> list[Json]:
    """All of an event's datasets."""
    single = [event["dataset"]] if "dataset" in event else []
    return [*single, *(event.get("inputs") or ()), *(event.get("outputs") or ())]


def thing_of(document: Json) -> Thing:
    """The dataset or job that an object of an event names."""
    return Thing(document["namespace"], document["name"])


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
