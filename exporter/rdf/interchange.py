"""The graph in other syntaxes than Turtle: the same nodes, made from the same facts, and so the same triples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.rdf import jsonld, ntriples
from exporter.rdf.nodes import of_things, of_versions
from exporter.resources import ontology_dir
from exporter.sql import aggregates, union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

FORMATS: Final = {"turtle": "ttl", "ntriples": "nt", "nquads": "nq", "jsonld": "jsonld"}
"""The names of the syntaxes, and how their files end."""


@dataclass(frozen=True)
class Texts:
    """``lines``: one text a node, in the column ``value``. A file is ``header``, the texts with ``between`` before all
    but the first, and ``footer``.
    """

    lines: DataFrame
    header: str = ""
    between: str = ""
    footer: str = ""


def texts(facts: Facts, timeline: DataFrame, account: str, base: str, name: str) -> Texts:
    """The graph of ``facts`` in the syntax ``name``, one of :data:`FORMATS` but Turtle."""
    found = {**of_things(facts), **of_versions(facts, timeline)}.items()
    if name == "jsonld":
        context = json.loads((ontology_dir() / "context.jsonld").read_text(encoding="utf-8"))["@context"]
        objects = [jsonld.render(table, node_class, account, base, context) for node_class, table in found]
        return Texts(union(objects), jsonld.header(context), ",", jsonld.FOOTER)
    graph = load_iri(facts, base) if name == "nquads" else None
    return Texts(union([ntriples.render(table, node_class, account, base, graph) for node_class, table in found]))


def load_iri(facts: Facts, base: str) -> str:
    """The name of a load's graph: ``load/HASH`` of its queries, so that the same queries loaded again are the same
    graph, whatever the files that they came in.
    """
    every = facts.queries.agg(*aggregates(load="lower(hex(coalesce(bit_xor(xxhash64(account, query_id)), 0L)))"))
    return f"{base}load/{every.first()['load']}"  # type: ignore[index]  # an aggregate has one row
