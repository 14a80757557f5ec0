"""The datasets of the objects that the queries of a partition mention, received once for all queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import decode, parts
from exporter.things.answers import Dataset

if TYPE_CHECKING:
    from exporter.things.answers import Spelled


class Spellings:
    """The datasets of a partition, by account and spelling."""

    def __init__(self) -> None:
        self._datasets: dict[str, dict[Spelled, Dataset]] = {}

    def hear(self, key: str, body: bytes) -> None:
        """Add the datasets that an object sends. ``key``: a key of its account."""
        account, _ = parts(key)
        object_key, told = decode(body)
        of_account = self.of(account)
        for name, owner, namespace, dataset, facets in told:
            of_account[object_key, name, owner] = Dataset(namespace, dataset, facets)

    def of(self, account: str) -> dict[Spelled, Dataset]:
        """The datasets of an account by spelling."""
        return self._datasets.setdefault(account, {})
