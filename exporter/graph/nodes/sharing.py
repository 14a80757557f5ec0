"""With ``--reads daily``: the nodes of a query that writes, without what all runs of its statement share.

Accesses and derivations are not written. The query refers to patterns of accesses
(:func:`exporter.graph.nodes.daily.pattern`), its versions of columns to patterns of derivations
(:mod:`exporter.graph.nodes.derived`), its changes to shared settings. What an access of one run has follows: its
version is the one of the pattern's object in ``prov:used`` of the query, since a query uses only one version of each
object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.nodes import daily, derived
from exporter.graph.nodes.queries import statement_nodes
from exporter.graph.vocabulary import ACCESS, CHANGE, COLUMN_DERIVATION, SETTING
from exporter.queries.reads import accessed, only_reads

if TYPE_CHECKING:
    from exporter.graph.iri import Iris
    from exporter.graph.nodes.queries import Links
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Node
    from exporter.queries.facts import Content

_NOT_WRITTEN: Final = (ACCESS, COLUMN_DERIVATION)


def patterns(content: Content, iris: Iris) -> list[Node]:
    """The patterns that the runs of a statement share."""
    of_columns = [node for nodes in derived.patterns(content, iris).values() for node in nodes]
    return _of_accesses(content, iris) + of_columns


def _of_accesses(content: Content, iris: Iris) -> list[Node]:
    return [node for one in accessed(content) if (node := daily.pattern(one, iris)) is not None]


def sharing_nodes(told: Told) -> tuple[list[Node], Links]:
    """The result of :func:`exporter.graph.nodes.queries.statement_nodes`, without what the statement shares."""
    return without_shared(*statement_nodes(told), told)


def without_shared(nodes: list[Node], links: Links, told: Told) -> tuple[list[Node], Links]:
    """The nodes and links of a statement, with references to its patterns. Those of a statement that only reads are
    returned as they are: its reads are added up by day.
    """
    if only_reads(told.content):
        return nodes, links
    used = tuple(sorted(node.iri for node in _of_accesses(told.content, told.iris)))
    left = derived.leading_to_patterns([node for node in nodes if node.of not in _NOT_WRITTEN], told)
    return left, links._replace(usages=(), derivations={}, patterns=used)


def with_shared_settings(nodes: list[Node], iris: Iris) -> tuple[list[Node], list[Node]]:
    """The nodes of a run without settings that other runs share, and these: ``setting/DIGEST``. Tags and policies are
    not shared, since each time that one is set has a period.
    """
    shared = {
        node.iri: node._replace(iri=daily.shared_iri("setting", iris, *sorted(node.values.items())))
        for node in nodes
        if node.of is SETTING and "ah:elementObject" not in node.values
    }
    if not shared:
        return nodes, []
    left = [_referring(node, shared) for node in nodes if node.iri not in shared]
    return left, list({node.iri: node for node in shared.values()}.values())


def _referring(node: Node, shared: dict[str, Node]) -> Node:
    """The node with references to the shared settings."""
    if node.of is not CHANGE or "ah:hasSetting" not in node.values:
        return node
    settings = {shared[one].iri if one in shared else one for one in map(str, node.values["ah:hasSetting"])}
    return node._replace(values={**node.values, "ah:hasSetting": tuple(sorted(settings))})
