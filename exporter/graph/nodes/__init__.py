"""Facts, answers and lives -> nodes: one function for each kind of thing that has nodes of its own."""

from __future__ import annotations

from exporter.graph.nodes.agents import of_account, of_agent, of_organization, of_user
from exporter.graph.nodes.objects import lasting, of_object
from exporter.graph.nodes.queries import of_unrecorded_query

__all__ = [
    "lasting",
    "of_account",
    "of_agent",
    "of_object",
    "of_organization",
    "of_unrecorded_query",
    "of_user",
]
