"""What the shapes' word means: which queries are held back, and the report in SHACL's own vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.errors import ExporterError
from exporter.rdf.nodes import of_things, of_versions, rendered
from exporter.rdf.shacl import dangling, violations
from exporter.sql import union
from exporter.together import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.progress import Progress
    from exporter.publication import Counted, Publication
    from exporter.settings import Settings

_QUERY: Final = ["account", "query_id"]
TIMELINE: Final = "timeline"
"""The name of the table of what happens to versions: it is stored once and read for every class and every syntax."""
_VERSIONS: Final = "of-versions"
_THINGS: Final = "of-things"
_PARTS: Final = (_VERSIONS, _THINGS)
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
    """Every node of the graph, rendered. ``count``: how many were held against the shapes. ``refused``: how often these
    had something to say, and ``violations`` what.
    """

    table: DataFrame
    count: int = 0
    refused: int = 0
    violations: tuple[DataFrame, ...] = ()


def checked_nodes(facts: Facts, settings: Settings, place: Publication, progress: Progress) -> Nodes:
    """The nodes in two parts at once: those that no version plays a part in, and the others. Each part is held against
    the shapes as soon as it is stored, and both are looked through for references to what neither describes; without
    validation nothing is stored and nodes are made as they are written.
    """

    def made(name: str) -> DataFrame:
        tables = of_things(facts) if name == _THINGS else of_versions(facts, place.kept(f".work/{TIMELINE}"))
        return rendered(tables, settings.account, settings.base)

    def stored(name: str) -> Counted:
        with progress.stage("nodes"):
            nodes = place.counted(made(name), f".work/nodes/{name}")
            progress.counted("nodes", nodes.count, name)
        return nodes

    def checked(name: str, found: Callable[[], DataFrame]) -> Counted:
        with progress.stage("shapes"):
            return place.counted(found(), f".work/violations/{name}")

    def held(part: Counted) -> DataFrame:
        return violations(part.table, part.count, settings.base)

    if not settings.validate:
        return Nodes(union([made(_VERSIONS), made(_THINGS)]))
    steps: dict[str, Callable[[Mapping[str, Counted]], Counted]] = {
        _VERSIONS: lambda _: stored(_VERSIONS),
        _THINGS: lambda _: stored(_THINGS),
        "checked versions": lambda done: checked(_VERSIONS, lambda: held(done[_VERSIONS])),
        "checked things": lambda done: checked(_THINGS, lambda: held(done[_THINGS])),
        "dangling": lambda done: checked("dangling", lambda: dangling(_all(done[name] for name in _PARTS))),
    }
    after = {"checked versions": (_VERSIONS,), "checked things": (_THINGS,), "dangling": _PARTS}
    done = together(steps, after)
    parts, found = [done[name] for name in _PARTS], [done[name] for name in steps if name not in _PARTS]
    refused = sum(one.count for one in found)
    return Nodes(_all(parts), sum(part.count for part in parts), refused, tuple(one.table for one in found))


def _all(parts: Iterable[Counted]) -> DataFrame:
    return union([part.table for part in parts])


def judge(facts: Facts, nodes: Nodes, before: Before, place: Publication) -> Verdict:
    """One round: what the shapes refuse, and the queries that it comes from."""
    held, number = before.held, len(before.verdicts)
    earlier = before.verdicts[-1] if before.verdicts else Verdict(facts, nodes.table, 0, held)
    if not nodes.refused:
        return Verdict(facts, nodes.table, nodes.count, held, False, earlier.found, earlier.by_shape, earlier.warnings)
    results = place.keep(union(nodes.violations), f".work/violations-{number}")
    counts = {
        (row["severity"], row["shape"]): row["count"] for row in results.groupBy("severity", "shape").count().collect()
    }
    refused = {shape: n for (severity, shape), n in counts.items() if severity == "Violation"}
    warned = {shape: n for (severity, shape), n in counts.items() if severity != "Violation"}
    found = (*earlier.found, results)
    if not refused:
        return Verdict(facts, nodes.table, nodes.count, held, False, found, earlier.by_shape, warned)
    more = place.keep(
        _responsible(results.filter(F.col("severity") == "Violation"), nodes.table, place, number),
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
