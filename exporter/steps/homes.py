"""Where queries are written: those of one statement one after the other, so that what they share is made once, however
many statements an account has.

An address is a home, which has a worker in the round that writes, and a shelf there, which has the queries of one
statement.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from exporter.messages import HOME_END, parts, within

if TYPE_CHECKING:
    from exporter.rows.row import Row

_MOST: Final = 500
"""Queries of one statement, of one partition, that go to one home: one that is most of an account has many homes."""
_SHELF: Final = 12
"""Hexadecimal digits of a shelf; the four before are a home: 65,536 of them, so that what an object is told for each
stays small.
"""
_OPEN: Final = "!"


class Addresses:
    """The addresses of the queries that one partition tells."""

    def __init__(self) -> None:
        self._queries: Counter[bytes] = Counter()

    def of(self, rows: list[Row], day: str = "") -> str:
        """Where a query with these rows is written; ``day``: on which later day, where it has not ended on this one."""
        digest = blake2b(rows[0].content, digest_size=8).digest()
        number = self._queries[digest]
        self._queries[digest] = number + 1
        if number >= _MOST:
            digest = blake2b(digest, digest_size=8, salt=(number // _MOST).to_bytes(8, "big")).digest()
        return f"{_OPEN}{day}{digest.hex()}" if day else digest.hex()


def is_later(address: str, day: str) -> bool:
    """Whether an address, a home or a key there is of a day after this one."""
    return address.startswith(_OPEN) and address[1 : 1 + len(day)] > day > ""


def home(address: str) -> str:
    """The home of an address."""
    return address[:-_SHELF]


def written_at(address: str, account: str, query_id: str) -> str:
    """The key of a query that is written there."""
    return f"{address[:-_SHELF]}{HOME_END}{address[-_SHELF:]}{within(account, query_id)}"


def written_of(key: str) -> tuple[str, str]:
    """The account and the query id of a key that :func:`written_at` made."""
    account, rest = parts(key)
    return account, rest.partition(HOME_END)[2][_SHELF:]


def asking(query_id: str, address: str) -> str:
    """A query as things hear of it: in the order of ids, with the address that answers go to."""
    return f"{query_id}{HOME_END}{address}"


def asked(text: str) -> tuple[str, str]:
    """The query id and the address that :func:`asking` was given."""
    query_id, _, address = text.rpartition(HOME_END)
    return query_id, address
