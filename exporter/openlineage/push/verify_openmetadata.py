"""What an OpenMetadata has to show after it got these events in this order, and the comparison with what it shows.

OpenMetadata makes an edge between each input and each output that it knows as tables, with the columns that the event
lists for these two (open-metadata/OpenMetadata, OpenLineageMapper). It keeps no runs. One edge stands for all events
about the same two tables, with what the last of them said (LineageRepository). Its versions differ in where they look
for column lineage, and each answers 200 to an event of which it takes no edge.

A table is looked for by its fully qualified name: the service, database, schema and table. The service is what the
server's settings map the namespace to; only administrators may read these. Without it, the table may be in any service
of Snowflake, as it may for the server (OpenLineageEntityResolver).

Read by ``GET /api/v1/tables/name/{fqn}`` and ``GET /api/v1/lineage/table/name/{fqn}``, as OpenMetadata's own client
does (``get_lineage_by_name`` of openmetadata-ingestion), ``GET /api/v1/system/settings/openLineageSettings`` and
``GET /api/v1/services/databaseServices``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.naming import parts
from exporter.openlineage.push.expected import ColumnEdge, Thing, columns_of, edges_of, thing_of
from exporter.openlineage.push.verify import Finding, NoAnswerError, UnreadableError, Verification, display_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exporter.openlineage.push.expected import Sample
    from exporter.openlineage.push.verify import Verified

Json = dict[str, Any]
JOBS: Final = "jobs: an edge has the last job alone, if OpenMetadata has a pipeline for it"
RUNS: Final = "runs: OpenMetadata keeps none"
FILES: Final = "files and buckets, and the edges to and from them: no API finds a container by its path"
EARLIER: Final = "columns that only earlier events name"
LAST: Final = "column edges that only earlier events tell: an edge between tables has the columns of its last event"
UNKEPT: Final = "column edges whose source is no input of the run: OpenMetadata does not keep them"
DROPPED: Final = "dropped tables: OpenMetadata's connector for Snowflake marks them as deleted"
_is_no_table: Final = re.compile(r"file(?![^:/])|(?!snowflake:)[a-z0-9]+://").match


@dataclass
class Table:
    """``columns``: of the last event that lists them; ``earlier``: all that any did. ``sources``: for each table that
    it is made from, the column edges of the last event about both; ``former``: those of all. ``unkept``: those whose
    source is no input. ``is_dropped``: the last event about it is its DROP.
    """

    columns: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    sources: dict[Thing, set[ColumnEdge]] = field(default_factory=dict)
    former: set[ColumnEdge] = field(default_factory=set)
    unkept: set[ColumnEdge] = field(default_factory=set)
    is_dropped: bool = False


class Expected:
    """What the events say of the datasets in a sample."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.datasets: dict[Thing, Table] = {}

    def add(self, event: Json) -> None:
        """The next event, as it was sent: the end of a run that reads and writes."""
        inputs = [thing_of(document) for document in event["inputs"]]
        for document in event["inputs"]:
            self._table(document)
        for document in event["outputs"]:
            table = self._table(document)
            if table is None:
                continue
            edges = set(edges_of(document))
            table.former |= edges
            table.unkept |= {edge for edge in edges if edge.source not in inputs}
            for source in inputs:
                table.sources[source] = {edge for edge in edges if edge.source == source}

    def _table(self, document: Json) -> Table | None:
        thing = thing_of(document)
        if not self._sample.has("datasets", thing):
            return None
        table, facets = self.datasets.setdefault(thing, Table()), document.get("facets") or {}
        table.is_dropped = (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange") == "DROP"
        if (facets.get("schema") or {}).get("fields") is not None:
            table.columns = columns_of(document)
            table.earlier |= table.columns
        return table


class OpenMetadataVerification(Verification):
    """The comparison with one OpenMetadata."""

    beside = "/openlineage/lineage"
    kinds = ("datasets", "columns", "column edges", "table edges")
    _expected: Expected

    def _expect(self, sample: Sample) -> Expected:
        return Expected(sample)

    def _prepare(self, verified: Verified) -> None:
        """Reads which service a namespace is, and which services of Snowflake there are."""
        for kind, why in (("jobs", JOBS), ("runs", RUNS)):
            if verified.sent[kind]:
                verified.not_checked[why] = verified.sent[kind]
        try:
            settings = self._api.get_if_allowed("system", "settings", "openLineageSettings") or {}
        except UnreadableError:  # a version without these settings
            settings = {}
        self._mapping: Json = (settings.get("config_value") or {}).get("namespaceToServiceMapping") or {}
        self._services: list[str] = []
        query, is_last = {"limit": "1000"}, False
        while not is_last:
            page = self._api.get("services", "databaseServices", **query)
            if page is None:
                raise NoAnswerError("it has no API /api/v1/services beside the address for events")
            snowflake_services = [
                service for service in page.get("data") or () if service.get("serviceType") == "Snowflake"
            ]
            self._services += [str(service.get("name")) for service in snowflake_services]
            after = (page.get("paging") or {}).get("after")
            query, is_last = {**query, "after": str(after)}, not after

    def _checks(self) -> Iterator[Callable[[], Iterator[Finding]]]:
        for dataset, expected in sorted(self._expected.datasets.items(), key=lambda item: item[0]):
            yield partial(self._findings_of_table, dataset, expected)

    def _fqns(self, thing: Thing) -> list[str]:
        """The fully qualified names that the table of a dataset can have."""
        mapped = self._mapping.get(thing.namespace) or next(
            (
                service
                for space, service in self._mapping.items()
                if thing.namespace.startswith(space) or space.startswith(thing.namespace)
            ),
            None,
        )
        name_parts = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts(thing.name)]
        return [".".join(map(_quoted, [service, *name_parts])) for service in ([mapped] if mapped else self._services)]

    # --- a table and its edges ----------------------------------------------------------------------------------------

    def _findings_of_table(self, thing: Thing, expected: Table) -> Iterator[Finding]:
        name = display_name(thing)
        if _is_no_table(thing.namespace):
            edges = sum(1 + len(columns) for columns in expected.sources.values())
            yield from [Finding("datasets", name, unchecked=FILES)] * (1 + edges)
            return
        fqns, columns, why = self._found_table(thing)
        if why and expected.is_dropped:
            yield Finding("datasets", name, known=DROPPED)
            return
        yield Finding("datasets", name, why)
        for column in sorted(expected.columns):
            yield Finding("columns", f"{name} {column}", None if column in columns else "the table does not have it")
        for column in sorted(expected.earlier - expected.columns - columns):
            yield Finding("columns", f"{name} {column}", known=EARLIER)
        if expected.sources:
            yield from self._edges(thing, expected, fqns)

    def _found_table(self, thing: Thing) -> tuple[list[str], set[str], str | None]:
        """The names that the table has, its columns, and why it is not found."""
        fqns, columns, reasons, names = list[str](), set[str](), list[str](), self._fqns(thing)
        for fqn in names:
            answer, why = self._read_object("tables", "name", fqn, fields="columns")
            if why:
                reasons.append(f"{fqn}: {why}")
                continue
            fqns.append(fqn)
            columns |= {str(table_column.get("name")) for table_column in answer.get("columns") or ()}
        if fqns:
            return fqns, columns, None
        return [], columns, "; ".join(reasons) or "there is no service of Snowflake"

    def _edges(self, thing: Thing, expected: Table, fqns: list[str]) -> Iterator[Finding]:
        name, shown_edges, faults = display_name(thing), dict[str, set[tuple[str, str]]](), list[str]()
        for fqn in fqns:
            answer, why = self._read_object("lineage", "table", "name", fqn, upstreamDepth="1", downstreamDepth="0")
            faults += [why] if why else []
            for from_table, columns in _upstream(answer):
                shown_edges.setdefault(from_table, set()).update(columns)
        why_not = "; ".join(faults) or "the table's lineage does not have it"
        for source, edges in sorted(expected.sources.items()):
            if _is_no_table(source.namespace):
                yield from [Finding("table edges", f"{display_name(source)} -> {name}", unchecked=FILES)] * (
                    1 + len(edges)
                )
                continue
            is_drawn = any(fqn in shown_edges for fqn in self._fqns(source))
            yield Finding("table edges", f"{display_name(source)} -> {name}", None if is_drawn else why_not)
            for edge in sorted(edges):
                why = None if self._has_edge(edge, fqns, shown_edges) else why_not
                yield Finding("column edges", _edge_text(edge, name), why)
        current = {edge for edges in expected.sources.values() for edge in edges}
        for edge in sorted(expected.former - current):
            if not self._has_edge(edge, fqns, shown_edges):
                yield Finding("column edges", _edge_text(edge, name), known=UNKEPT if edge in expected.unkept else LAST)

    def _has_edge(self, edge: ColumnEdge, fqns: list[str], shown_edges: dict[str, set[tuple[str, str]]]) -> bool:
        return any(
            (start, end) in shown_edges.get(source, ())
            for source in self._fqns(edge.source)
            for start in _column(source, edge.source_column)
            for target in fqns
            for end in _column(target, edge.column)
        )


def _upstream(answer: Json) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """For each table that the lineage of a table begins at: its name, and the edges between their columns."""
    names = {node.get("id"): node.get("fullyQualifiedName") for node in answer.get("nodes") or ()}
    for edge in answer.get("upstreamEdges") or ():
        lineage = (edge.get("lineageDetails") or {}).get("columnsLineage") or ()
        if edge.get("toEntity") == (answer.get("entity") or {}).get("id") and names.get(edge.get("fromEntity")):
            columns = {
                (start, str(column_edge.get("toColumn")))
                for column_edge in lineage
                for start in column_edge.get("fromColumns") or ()
            }
            yield str(names[edge["fromEntity"]]), columns


def _column(table: str, column: str) -> tuple[str, str]:
    """A column's full name as it is, and as the mapper writes it, which does not quote."""
    return f"{table}.{_quoted(column)}", f"{table}.{column}"


def _quoted(part: str) -> str:
    """A part of a fully qualified name (FullyQualifiedName.quoteName)."""
    return f'"{part}"' if "." in part else part


def _edge_text(edge: ColumnEdge, name: str) -> str:
    return f"{display_name(edge.source)} {edge.source_column} -> {name} {edge.column}"
