"""The graph, and what is made of it for catalogs, as files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from exporter.rdf import catalog, interchange, jsonld, turtle
from exporter.rdf.validation import TIMELINE
from exporter.sql import union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.publication import Publication
    from exporter.rdf.terms import NodeClass
    from exporter.rdf.validation import Verdict
    from exporter.settings import Settings


def graph(verdict: Verdict, settings: Settings, place: Publication, *, is_small: bool) -> int:
    """Write the nodes that were checked to ``graph/``, in each syntax that is asked for; returns how many they are.

    A small graph is one file, in an order for people; a large one is written as it comes.
    """
    write = partial(_graph_as, verdict=verdict, settings=settings, place=place, is_small=is_small)
    counts = [write(name) for name in settings.graph_format]
    return counts[0]


def _graph_as(name: str, verdict: Verdict, settings: Settings, place: Publication, *, is_small: bool) -> int:
    if name == "turtle":
        texts = interchange.Texts(verdict.nodes, turtle.header(settings.base))
        column, order = "turtle", "iri"
    else:
        texts = interchange.texts(verdict.facts, place.kept(f".work/{TIMELINE}"), settings.account, settings.base, name)
        column, order = "value", "value"
    lines = texts.lines.coalesce(1).sortWithinPartitions(order) if is_small else texts.lines
    headed = turtle.with_headers(lines, texts.header, column, texts.between)
    return place.lines(headed, "graph", interchange.FORMATS[name], texts.footer)


def catalogs(verdict: Verdict, settings: Settings, place: Publication) -> None:
    """Write the DCAT catalog and the tags, each as Turtle and as JSON-LD."""
    _documents("catalog", catalog.catalog(verdict.facts), catalog.CATALOG_PREFIXES, settings, place)
    _documents("tags", catalog.tags(verdict.facts), catalog.TAG_PREFIXES, settings, place)


def _documents(
    name: str,
    nodes: Mapping[NodeClass, DataFrame],
    prefixes: Mapping[str, str],
    settings: Settings,
    place: Publication,
) -> None:
    account, base = settings.account, settings.base
    blocks = [turtle.render(table, one, account, base).select("iri", "turtle") for one, table in nodes.items()]
    in_order = union(blocks).coalesce(1).sortWithinPartitions("iri").select("turtle")
    place.document(in_order, f"{name}.ttl", turtle.header(base, prefixes))
    context = jsonld.context_of(nodes, prefixes)
    objects = [jsonld.render(table, one, account, base, context) for one, table in nodes.items()]
    lines = union(objects).coalesce(1).sortWithinPartitions("value")
    place.document(
        turtle.with_headers(lines, "", "value", ","), f"{name}.jsonld", jsonld.header(context), jsonld.FOOTER
    )
