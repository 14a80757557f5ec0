"""The export as provenance of the graph: when it was made, by which version, for which account and period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.iri import account_iri
from exporter.graph.nodes.accounts import of_account, standing_of
from exporter.graph.terms import Node
from exporter.graph.vocabulary import EXPORT
from exporter.graph.writers import writer_of
from exporter.queries.identifiers import segment
from exporter.rows.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.graph.terms import Values


def of_export(
    account: str, at: int, period: tuple[int, int] | None, exporter_version: str, model_version: str
) -> Iterator[Node]:
    """``export/TIME``, and the account. ``at``: when the export was complete; ``period``: when the first and the last
    query of the graph started; None where it has no queries. Times in microseconds since 1970, UTC.
    """
    values: Values = {"prov:generatedAtTime": (at,)}
    iri = account_iri(account)
    if iri is not None:
        values["ah:account"] = (iri,)
    if period is not None:
        values["ah:firstQueryTime"] = (period[0],)
        values["ah:lastQueryTime"] = (period[1],)
    values["ah:exporterVersion"] = (exporter_version,)
    values["ah:modelVersion"] = (model_version,)
    yield Node(EXPORT, f"export/{segment(iso(at))}", EXPORT.types, values)
    node = of_account(account, [standing_of(account)])
    if node is not None:
        yield node


def document(nodes: Iterator[Node], base: str) -> str:
    """The nodes as a file of Turtle."""
    writer = writer_of("turtle", base)
    return "".join(f"{text}\n" for text in writer.document([[writer.render(node) for node in nodes]]))
