"""Facts -> nodes: one table per class, one row per subject, one column per property of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rdf import accounts, agents, changes, lineage, objects, protection, queries, versions
from exporter.rdf import vocabulary as v
from exporter.rdf.turtle import NODE_COLUMNS, render
from exporter.sql import union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.rdf.terms import NodeClass


def rendered(tables: Mapping[NodeClass, DataFrame], account: str, base: str) -> DataFrame:
    """The nodes of these classes, rendered: the columns of :data:`exporter.rdf.turtle.NODE_COLUMNS`."""
    every = [render(table, node_class, account, base) for node_class, table in tables.items()]
    return union([one.select(*NODE_COLUMNS) for one in every])


def of_things(facts: Facts) -> Mapping[NodeClass, DataFrame]:
    """The nodes of each class that no version plays a part in."""
    return {
        v.UNRECORDED_QUERY: queries.unrecorded_queries(facts),
        v.ACCOUNT: accounts.accounts(facts),
        v.ORGANIZATION: accounts.organizations(facts),
        v.USER: agents.users(facts),
        v.SOFTWARE_AGENT: agents.software_agents(facts),
        v.AGENT_ASSOCIATION: agents.agent_associations(facts),
        v.OBJECT: objects.objects(facts),
        v.OBJECT_NAME: objects.object_names(facts),
        v.COLUMN: objects.columns(facts),
        v.JOIN: protection.joins(facts),
        v.CHANGE: changes.changes(facts),
        v.SETTING: changes.settings(facts),
    }


def of_versions(facts: Facts, timeline: DataFrame) -> Mapping[NodeClass, DataFrame]:
    """Versions, and the nodes of each class that name one; ``timeline``: :func:`exporter.rdf.versions.timeline`."""
    reads = versions.reads(timeline)
    return {
        v.QUERY: queries.queries(facts, reads),
        v.VERSION: lineage.object_versions(facts, timeline),
        v.COLUMN_VERSION: lineage.column_versions(timeline),
        v.ACCESS: lineage.accesses(facts, reads),
        v.COLUMN_DERIVATION: lineage.column_derivations(timeline),
        v.POLICY_ENFORCEMENT: protection.policy_enforcements(facts, reads),
    }
