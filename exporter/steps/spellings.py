"""The datasets of the objects that the queries of a partition mention, received once for all queries. A query that
started on an earlier day of an update has what that day knew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from exporter.messages import parts
from exporter.things.answers import Dataset, Signs

if TYPE_CHECKING:
    from exporter.things.answers import Spelled

Named = tuple[str | None, str | None, str, str, bytes]
"""Name and account as in rows; namespace, name and facets of the dataset."""
_read: Final = msgspec.msgpack.Decoder(tuple[str, list[Named], Signs | None]).decode


class Spellings:
    """The datasets of a partition, by account and spelling, apart for each home of queries of earlier days."""

    def __init__(self) -> None:
        self._datasets: dict[tuple[str, str], dict[Spelled, Dataset]] = {}

    def hear(self, key: str, body: bytes, home: str = "") -> None:
        """Add the datasets that an object sends. ``key``: a key of its account; ``home``: as in :meth:`of`."""
        account, _ = parts(key)
        object_key, told, signs = _read(body)
        of_account = self.of(account, home)
        for name, owner, namespace, dataset, facets in told:
            of_account[object_key, name, owner] = Dataset(namespace, dataset, facets, signs)

    def of(self, account: str, home: str = "") -> dict[Spelled, Dataset]:
        """The datasets of an account by spelling; ``home``: of a query that started on an earlier day."""
        return self._datasets.setdefault((account, home), {})
