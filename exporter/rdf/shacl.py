"""The shapes, held against the very Turtle that will be written.

pySHACL, the reference engine, runs in Spark's partitions on graphs of bounded size: so many nodes as they will be
published, and the class of every node that they refer to. That class is read off the IRI, which is sound because two
further checks stand beside: every node has the class that its IRI says, and nothing refers to a node that is not there.

The seam for another engine is :func:`violations`: nodes in, rows of :data:`VIOLATION` out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from exporter.rdf.terms import AH

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VIOLATION: Final = "iri string, shape string, path string, value string, message string, severity string"
MISSING_NODE: Final = f"{AH}NothingRefersToAMissingNode"
GRAPH_NODES: Final = 2_000
"""Nodes in one graph, about. Larger ones save little: the shapes' own work grows with the nodes."""


def violations(nodes: DataFrame, count: int, base: str) -> DataFrame:
    """What the shapes say of ``count`` nodes; empty where all conform. A Python function runs once for each graph, not
    for each row.
    """
    graphs = -(-count // GRAPH_NODES)
    by_graph = nodes.groupBy((F.pmod(F.xxhash64("iri"), F.lit(graphs))).alias("graph")).agg(
        F.collect_list(F.struct("iri", "turtle", "refs")).alias("nodes")
    )
    result = f"array<struct<{VIOLATION.replace(' string', ': string')}>>"
    check = F.udf(lambda graph: _checked(graph, base), result, useArrow=False)
    return by_graph.select(F.explode(check("nodes")).alias("result")).select("result.*")


def _checked(graph: list[Any], base: str) -> list[tuple[str | None, ...]]:
    from exporter.rdf import worker  # noqa: PLC0415 - in a worker, which has it; pySHACL is long to load for a driver

    return worker.check(graph, base)


def dangling(nodes: DataFrame) -> DataFrame:
    """References to nodes that are nowhere described."""
    refs = nodes.select("iri", F.explode("refs").alias("value"))
    known = nodes.select(F.col("iri").alias("value"))
    named = {
        "shape": F.lit(MISSING_NODE),
        "path": F.lit(None).cast("string"),
        "message": F.concat(F.lit("refers to a node that the graph does not describe: "), "value"),
        "severity": F.lit("Violation"),
    }
    missing = refs.join(known, on="value", how="left_anti")
    return missing.select("iri", *[_column(name, named) for name in ("shape", "path", "value", "message", "severity")])


def _column(name: str, named: dict[str, Column]) -> Column:
    return F.col(name).alias(name) if name not in named else named[name].alias(name)
