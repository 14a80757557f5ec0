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
from collections.abc import Iterator
from typing import Final

from exporter.backends.event import ColumnEdge, DatasetOrJob, Json, edges_of, thing_of
from exporter.backends.verify import (
    Expectation,
    ExpectedDataset,
    NoAnswerError,
    UnreadableError,
    Verification,
    Verified,
    objects,
    part,
    text,
    texts,
)
from exporter.openlineage.naming import plain_parts

JOBS: Final = "jobs: an edge has the last job alone, if OpenMetadata has a pipeline for it"
RUNS: Final = "runs: OpenMetadata keeps none"
FILES: Final = "files and buckets, and the edges to and from them: no API finds a container by its path"
LAST: Final = "column edges that only earlier events tell: an edge between tables has the columns of its last event"
UNKEPT: Final = "column edges whose source is no input of the run: OpenMetadata does not keep them"
DROPPED: Final = "dropped tables: OpenMetadata's connector for Snowflake marks them as deleted"
_is_no_table: Final = re.compile(r"file(?![^:/])|(?!snowflake:)[a-z0-9]+://").match


class OpenMetadataVerification(Verification):
    """The comparison with one OpenMetadata."""

    beside = "/openlineage/lineage"
    kinds = ("datasets", "columns", "column edges", "table edges")
    earlier = "columns that only earlier events name"
    without_column = "the table does not have it"

    def _expect(self, event: Json) -> None:
        """Only the ends of runs that read and write are sent."""
        inputs = [thing_of(document) for document in event["inputs"]]
        for document in event["inputs"]:
            self._expect_last_columns(document)
        for document in event["outputs"]:
            table = self._expect_last_columns(document)
            if table is None:
                continue
            edges = set(edges_of(document))
            table.edges |= edges
            table.unkept |= {edge for edge in edges if edge.source not in inputs}
            for source in inputs:
                table.sources[source] = {edge for edge in edges if edge.source == source}

    def _prepare(self, verified: Verified) -> None:
        """Reads which service a namespace is, and which services of Snowflake there are."""
        for kind, reason in (("jobs", JOBS), ("runs", RUNS)):
            if verified.sent[kind]:
                verified.not_checked[reason] = verified.sent[kind]
        try:
            settings = self._ask("system", "settings", "openLineageSettings", may_be_forbidden=True) or {}
        except UnreadableError:  # a version without these settings
            settings = {}
        mapping = part(settings, "config_value", "namespaceToServiceMapping")
        self._mapping = {space: service for space, service in mapping.items() if isinstance(service, str)}
        self._services: list[str] = []
        query, is_last = {"limit": "1000"}, False
        while not is_last:
            page = self._ask("services", "databaseServices", query=query)
            if page is None:
                raise NoAnswerError("it has no API /api/v1/services beside the address for events")
            services = [one for one in objects(page, "data") if text(one, "serviceType") == "Snowflake"]
            self._services += [name for service in services if (name := text(service, "name"))]
            after = text(page, "paging", "after")
            query, is_last = {**query, "after": after or ""}, not after or after == query.get("after")

    def _fqns(self, thing: DatasetOrJob) -> list[str]:
        """The fully qualified names that the table of a dataset can have."""
        own, mapping = thing.namespace, self._mapping
        similar = [service for space, service in mapping.items() if own.startswith(space) or space.startswith(own)]
        mapped = mapping.get(own) or next(iter(similar), None)
        services, name_parts = [mapped] if mapped else self._services, plain_parts(thing.name)
        return [".".join(map(_quoted, [service, *name_parts])) for service in services]

    # --- a table and its edges ----------------------------------------------------------------------------------------

    def _dataset_findings(self, thing: DatasetOrJob, expected: ExpectedDataset) -> Iterator[Expectation]:
        if _is_no_table(thing.namespace):
            edges = sum(1 + len(columns) for columns in expected.sources.values())
            yield from [Expectation("datasets", str(thing), unchecked=FILES)] * (1 + edges)
            return
        fqns, columns, reason = self._found_table(thing)
        if reason and expected.is_dropped:
            yield Expectation("datasets", str(thing), known=DROPPED)
            return
        yield Expectation("datasets", str(thing), reason)
        yield from self._column_findings(thing, expected, columns)
        if expected.sources:
            yield from self._edge_findings(thing, expected, fqns)

    def _found_table(self, thing: DatasetOrJob) -> tuple[list[str], set[str | None], str | None]:
        """The names that the table has, its columns, and why it is not found."""
        fqns, columns, reasons, names = list[str](), set[str | None](), list[str](), self._fqns(thing)
        for fqn in names:
            answer, reason = self._read_named("tables", "name", fqn, fields="columns")
            if reason:
                reasons.append(f"{self._sender.secrets.shown(fqn)}: {reason}")
                continue
            fqns.append(fqn)
            columns |= {text(column, "name") for column in objects(answer, "columns")}
        if fqns:
            return fqns, columns, None
        return [], columns, "; ".join(reasons) or "there is no service of Snowflake"

    def _edge_findings(self, thing: DatasetOrJob, expected: ExpectedDataset, fqns: list[str]) -> Iterator[Expectation]:
        shown, faults = dict[str, set[tuple[str, str]]](), list[str]()
        for fqn in fqns:
            answer, reason = self._read("lineage", "table", "name", fqn, upstreamDepth="1", downstreamDepth="0")
            faults += [reason] if reason else []
            for from_table, columns in _upstream(answer):
                shown.setdefault(from_table, set()).update(columns)
        why_not = "; ".join(faults) or "the table's lineage does not have it"
        for source, edges in sorted(expected.sources.items()):
            edge_text = f"{source} -> {thing}"
            if _is_no_table(source.namespace):
                yield from [Expectation("table edges", edge_text, unchecked=FILES)] * (1 + len(edges))
                continue
            yield Expectation(
                "table edges", edge_text, None if any(fqn in shown for fqn in self._fqns(source)) else why_not
            )
            for edge in sorted(edges):
                yield Expectation("column edges", str(edge), None if self._has_edge(edge, fqns, shown) else why_not)
        current = {edge for edges in expected.sources.values() for edge in edges}
        for edge in sorted(expected.edges - current):
            if not self._has_edge(edge, fqns, shown):
                yield Expectation("column edges", str(edge), known=UNKEPT if edge in expected.unkept else LAST)

    def _has_edge(self, edge: ColumnEdge, fqns: list[str], shown: dict[str, set[tuple[str, str]]]) -> bool:
        return any(
            (start, end) in shown.get(source, ())
            for source in self._fqns(edge.source)
            for start in _column(source, edge.source_column)
            for target in fqns
            for end in _column(target, edge.column)
        )


def _upstream(answer: Json) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """For each table that the lineage of a table begins at: its name, and the edges between their columns."""
    names = {text(node, "id"): text(node, "fullyQualifiedName") for node in objects(answer, "nodes")}
    for edge in objects(answer, "upstreamEdges"):
        table = names.get(text(edge, "fromEntity"))
        if text(edge, "toEntity") == text(answer, "entity", "id") and table:
            columns = {
                (start, text(column_edge, "toColumn") or "")
                for column_edge in objects(edge, "lineageDetails", "columnsLineage")
                for start in texts(column_edge, "fromColumns")
            }
            yield table, columns


def _column(table: str, column: str) -> tuple[str, str]:
    """A column's full name as it is, and as the mapper writes it, which does not quote."""
    return f"{table}.{_quoted(column)}", f"{table}.{column}"


def _quoted(part: str) -> str:
    """A part of a fully qualified name (FullyQualifiedName.quoteName)."""
    return f'"{part}"' if "." in part else part
