"""Facts -> nodes: one table per class, one row per subject, one column per property of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rdf import accounts, agents, changes, lineage, objects, protection, queries, versions
from exporter.rdf import vocabulary as v
from exporter.rdf.turtle import NODE_COLUMNS, render
from exporter.sql import union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.rdf.terms import NodeClass


def nodes(facts: Facts, account: str, base: str, keep: Callable[[str, DataFrame], DataFrame]) -> DataFrame:
    """Every node of the graph, rendered: the columns of :data:`exporter.rdf.turtle.NODE_COLUMNS`."""
    rendered = [render(table, node_class, account, base) for node_class, table in tables(facts, keep).items()]
    return union([one.select(*NODE_COLUMNS) for one in rendered])


def tables(facts: Facts, keep: Callable[[str, DataFrame], DataFrame]) -> Mapping[NodeClass, DataFrame]:
    """The nodes of each class. ``keep`` stores a table under its name and returns it as stored."""
    line = keep("timeline", versions.timeline(facts))
    reads = versions.reads(line)
    return {
        v.QUERY: queries.queries(facts, reads),
        v.UNRECORDED_QUERY: queries.unrecorded_queries(facts),
        v.ACCOUNT: accounts.accounts(facts),
        v.ORGANIZATION: accounts.organizations(facts),
        v.USER: agents.users(facts),
        v.SOFTWARE_AGENT: agents.software_agents(facts),
        v.AGENT_ASSOCIATION: agents.agent_associations(facts),
        v.OBJECT: objects.objects(facts),
        v.OBJECT_NAME: objects.object_names(facts),
        v.COLUMN: objects.columns(facts),
        v.VERSION: lineage.object_versions(facts, line),
        v.COLUMN_VERSION: lineage.column_versions(line),
        v.ACCESS: lineage.accesses(facts, reads),
        v.COLUMN_DERIVATION: lineage.column_derivations(line),
        v.POLICY_ENFORCEMENT: protection.policy_enforcements(facts, reads),
        v.JOIN: protection.joins(facts),
        v.CHANGE: changes.changes(facts),
        v.SETTING: changes.settings(facts),
    }
