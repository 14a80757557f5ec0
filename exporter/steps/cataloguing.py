"""Make the catalog and the tags, two documents, from the attributes of objects and the changes of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from exporter.graph.catalog import catalog_nodes, documents, tag_nodes
from exporter.graph.catalog_entries import Entry, Remark
from exporter.graph.iri import Iris
from exporter.messages import CATALOG, ENTRY, Message, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.graph.terms import Node
    from exporter.steps.job import Job

_read: Final = msgspec.msgpack.Decoder(tuple[str, Entry | None, Remark | None]).decode


def of_object(entry: Entry | None) -> Iterator[Message]:
    """The catalog's entry of an object; nothing if the catalog does not list it."""
    if entry is not None:
        yield Message(ENTRY, "", b"", encode((entry.account, entry, None)))


def of_query(account: str, remarks: Iterable[Remark]) -> Iterator[Message]:
    """The remarks of a query for the catalog."""
    for remark in remarks:
        yield Message(ENTRY, "", b"", encode((account, None, remark)))


def catalogue(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The two documents, for all accounts together."""
    entries: dict[str, list[Entry]] = {}
    said: dict[str, list[Remark]] = {}
    for message in messages:
        account, entry, remark = _read(message.body)
        if entry is not None:
            entries.setdefault(account, []).append(entry)
        if remark is not None:
            said.setdefault(account, []).append(remark)
    catalog: list[Node] = []
    tags: list[Node] = []
    for account in sorted(job.begun):
        of_account = sorted(entries.get(account, ()), key=lambda one: one.key)
        iris = Iris(account, job.account, job.base)
        catalog += catalog_nodes(of_account, said.get(account, ()), iris)
        tags += tag_nodes(of_account, said.get(account, ()), iris)
    for name, text in documents(catalog, tags, job.base):
        yield Message(f"{CATALOG}-{name}", "", b"", text.removesuffix("\n").encode())
