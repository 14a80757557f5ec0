"""Where queries are written: those of one statement one after the other, so that what they share is made once, however
many statements an account has.

An address is a home, which has a worker in the round that writes, and a shelf there, which has the queries of one
statement.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from exporter.messages import HOME_END, within

if TYPE_CHECKING:
    from exporter.rows.row import Row

_MOST: Final = 500
"""Queries of one statement, of one partition, that go to one home: one that is most of an account has many homes."""
_HOME: Final = 4
"""Hexadecimal digits of a home: 65,536 homes, so that what an object is told for each stays small."""


class Addresses:
    """The addresses of the queries that one partition tells."""

    def __init__(self) -> None:
        self._queries: Counter[bytes] = Counter()

    def of(self, rows: list[Row]) -> str:
        """Where a query with these rows is written."""
        digest = blake2b(rows[0].content, digest_size=8).digest()
        number = self._queries[digest]
        self._queries[digest] = number + 1
        if number >= _MOST:
            digest = blake2b(digest, digest_size=8, salt=(number // _MOST).to_bytes(8, "big")).digest()
        return digest.hex()


def home(address: str) -> str:
    """The home of an address."""
    return address[:_HOME]


def written_at(address: str, account: str, query_id: str) -> str:
    """The key of a query that is written there."""
    return f"{address[:_HOME]}{HOME_END}{address[_HOME:]}{within(account, query_id)}"


def asking(query_id: str, address: str) -> str:
    """A query as things hear of it: in the order of ids, with the address that answers go to."""
    return f"{query_id}{HOME_END}{address}"


def asked(text: str) -> tuple[str, str]:
    """The query id and the address that :func:`asking` was given."""
    query_id, _, address = text.rpartition(HOME_END)
    return query_id, address
