"""With ``--reads daily``: the sources of columns, written once for all runs of statements with the same derivations.

A version of a column refers to its patterns and, as with ``--reads full``, to the versions that it was filled from and
to its query. So everything in the derivation of one run can be found: for a pattern's source column, it is the version
in ``prov:wasDerivedFrom`` (a query uses only one version of each column); for a pattern without a source column, it is
the version of the source that the query used.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.nodes.daily import shared_iri
from exporter.graph.terms import Node
from exporter.graph.vocabulary_daily import DERIVATION_PATTERN
from exporter.queries.identifiers import ROUTINE_KINDS

if TYPE_CHECKING:
    from exporter.graph.iri import Iris
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Content, Derivation

Target = tuple[str, str]
"""The key of the object that was written, and the name of its column."""
_TYPES: Final = DERIVATION_PATTERN.types


def patterns(content: Content, iris: Iris) -> dict[Target, list[Node]]:
    """``derived/DIGEST``: for each written column, the columns and functions that the statement filled it from,
    sorted by IRI.
    """
    alike: dict[tuple[Any, ...], list[Derivation]] = defaultdict(list)
    for one in content.derivations:
        names = one.target_key, one.target_column, one.target_name, one.source.key, one.source.name, one.source_column
        alike[names].append(one)
    found: dict[Target, list[Node]] = defaultdict(list)
    for names, each in alike.items():
        ways = tuple(sorted({one.source_type for one in each}))
        node = Node(DERIVATION_PATTERN, shared_iri("derived", iris, *names, ways), _TYPES, _values(each[0], ways, iris))
        found[each[0].target_key, each[0].target_column].append(node)
    return {target: sorted(nodes, key=lambda node: node.iri) for target, nodes in found.items()}


def _values(derivation: Derivation, ways: tuple[str, ...], iris: Iris) -> Values:
    source = derivation.source
    values: Values = {"ah:sourceType": ways, "ah:sourceObject": (iris.object(source.key),)}
    if source.name is not None:
        values["ah:sourceName"] = (source.name,)
    if derivation.source_column is not None:
        values["ah:sourceColumn"] = (iris.column(source.key, derivation.source_column),)
    if source.kind in ROUTINE_KINDS:
        values["ah:viaFunction"] = (iris.path(source.key),)
    values["ah:targetColumn"] = (iris.column(derivation.target_key, derivation.target_column),)
    if derivation.target_name is not None:
        values["ah:targetName"] = (derivation.target_name,)
    return values


def leading_to_patterns(nodes: list[Node], told: Told) -> list[Node]:
    """The nodes, with references from versions of columns to their patterns."""
    found = {
        told.iris.column_state(key, told.version, column): tuple([node.iri for node in each])
        for (key, column), each in patterns(told.content, told.iris).items()
    }
    return [_leading(node, found.get(node.iri)) for node in nodes]


def _leading(node: Node, iris: tuple[str, ...] | None) -> Node:
    return node if iris is None else node._replace(values={**node.values, "ah:derivationPattern": iris})
