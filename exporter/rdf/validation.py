"""What the shapes' word means: which queries are held back, and the report in SHACL's own vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.errors import ExporterError
from exporter.rdf.nodes import of_things, of_versions, rendered
from exporter.rdf.shacl import dangling, violations
from exporter.sql import union
from exporter.together import both

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.rdf.terms import NodeClass
    from exporter.settings import Settings

_QUERY: Final = ["account", "query_id"]
TIMELINE: Final = "timeline"
"""The name of the table of what happens to versions: it is stored once and read for every class and every syntax."""
_STEPS: Final = 8
"""How many references away from its query a node can be: a name <- its object <- a column <- an access."""


@dataclass(frozen=True)
class Verdict:
    """``held``: queries kept out of both outputs (``account``, ``query_id``, ``reason``), None for none. ``found``:
    the results of all rounds (:data:`exporter.rdf.shacl.VIOLATION`). ``checked``: nodes held against the shapes in the
    last round. ``by_shape``, ``warnings``: results by shape, over all rounds.
    """

    facts: Facts
    nodes: DataFrame
    checked: int
    held: DataFrame | None
    refuses: bool = False
    found: tuple[DataFrame, ...] = ()
    by_shape: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Before:
    """What earlier rounds came to: the queries held back so far, and their verdicts."""

    held: DataFrame | None
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True)
class Nodes:
    """Every node of the graph, rendered. ``count``: how many were held against the shapes, and ``violations``: what
    these said of them.
    """

    table: DataFrame
    count: int
    violations: tuple[DataFrame, ...]


def checked_nodes(facts: Facts, settings: Settings, place: Publication, progress: Progress) -> Nodes:
    """The nodes in two parts at once: those that no version plays a part in, and the others. Each part is held against
    the shapes as soon as it is stored; without validation nothing is stored and nodes are made as they are written.
    """

    def made(tables: Mapping[NodeClass, DataFrame], name: str) -> Nodes:
        with progress.stage("nodes"):
            table = rendered(tables, settings.account, settings.base)
            if not settings.validate:
                return Nodes(table, 0, ())
            stored = place.counted(table, f".work/nodes/{name}")
        with progress.stage("shapes"):
            found = place.keep(violations(stored.table, stored.count, settings.base), f".work/violations/{name}")
        return Nodes(stored.table, stored.count, (found,))

    line = place.kept(f".work/{TIMELINE}")
    one, other = both(
        lambda: made(of_versions(facts, line), "of-versions"), lambda: made(of_things(facts), "of-things")
    )
    return Nodes(union([one.table, other.table]), one.count + other.count, one.violations + other.violations)


def judge(facts: Facts, nodes: Nodes, before: Before, place: Publication) -> Verdict:
    """One round: what the shapes refuse, references to nodes that are not there, and the queries that it comes from."""
    held, number = before.held, len(before.verdicts)
    results = place.counted(union([*nodes.violations, dangling(nodes.table)]), f".work/violations-{number}")
    earlier = before.verdicts[-1] if before.verdicts else Verdict(facts, nodes.table, 0, held)
    if not results.count:
        return Verdict(facts, nodes.table, nodes.count, held, False, earlier.found, earlier.by_shape, earlier.warnings)
    counts = {
        (row["severity"], row["shape"]): row["count"]
        for row in results.table.groupBy("severity", "shape").count().collect()
    }
    refused = {shape: n for (severity, shape), n in counts.items() if severity == "Violation"}
    warned = {shape: n for (severity, shape), n in counts.items() if severity != "Violation"}
    found = (*earlier.found, results.table)
    if not refused:
        return Verdict(facts, nodes.table, nodes.count, held, False, found, earlier.by_shape, warned)
    more = place.keep(
        _responsible(results.table.filter(F.col("severity") == "Violation"), nodes.table, place, number),
        f".work/held-{number}",
    )
    if more.isEmpty():
        raise ExporterError(
            f"the shapes refuse nodes that belong to no query: {', '.join(sorted(refused))}; please report this"
        )
    every = more if held is None else more.unionByName(held)
    by_shape = {
        shape: earlier.by_shape.get(shape, 0) + refused.get(shape, 0) for shape in {*earlier.by_shape, *refused}
    }
    return Verdict(facts, nodes.table, nodes.count, every, True, found, by_shape, warned)


def _responsible(refused: DataFrame, nodes: DataFrame, place: Publication, number: int) -> DataFrame:
    """The queries that refused nodes come from: their own query, or every one that leads to them by reference."""
    said = refused.groupBy("iri").agg(F.min(F.struct("shape", "message")).alias("why"))
    reasons = said.select("iri", F.concat(F.lit("shape "), "why.shape", F.lit(": "), "why.message").alias("reason"))
    guilty = nodes.select("iri", *_QUERY, "refs").join(F.broadcast(reasons), on="iri", how="inner")
    held = guilty.filter(F.col("query_id").isNotNull()).select(*_QUERY, "reason")
    shared = place.keep(guilty.filter(F.col("query_id").isNull()).select("iri", "reason"), f".work/shared-{number}-0")
    steps = [held]
    for step in range(1, _STEPS):
        if shared.isEmpty():
            break
        named = nodes.select("iri", *_QUERY, F.explode("refs").alias("ref"))
        leading = named.join(F.broadcast(shared.withColumnRenamed("iri", "ref")), on="ref", how="inner")
        steps.append(leading.filter(F.col("query_id").isNotNull()).select(*_QUERY, "reason"))
        upwards = leading.filter(F.col("query_id").isNull()).groupBy("iri").agg(F.min("reason").alias("reason"))
        shared = place.keep(upwards, f".work/shared-{number}-{step}")
    every = union(steps)
    return every.groupBy(*_QUERY).agg(F.min("reason").alias("reason"))
