"""Addresses that group the queries of one statement, so that they are written one after the other and what they share
is made once.

An address consists of a home and a shelf. A home is processed by one worker in the round that writes. A shelf has the
queries of one statement.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from exporter.messages import HOME_END, parts, within

if TYPE_CHECKING:
    from exporter.rows.row import Row

_MOST: Final = 500
"""Most queries of one statement from one partition at one home; a very frequent statement gets several homes."""
_SHELF: Final = 12
"""Hexadecimal digits of a shelf. The four digits before it are the home: there are at most 65,536, because objects send
a message to each.
"""
_OPEN: Final = "!"


class Addresses:
    """Gives addresses to the queries of one partition."""

    def __init__(self) -> None:
        self._queries: Counter[bytes] = Counter()

    def of(self, rows: list[Row], day: str = "") -> str:
        """The address of a query with these rows. ``day``: the later day on which it ends; empty for the same day."""
        digest = blake2b(rows[0].content, digest_size=8).digest()
        number = self._queries[digest]
        self._queries[digest] = number + 1
        if number >= _MOST:
            digest = blake2b(digest, digest_size=8, salt=(number // _MOST).to_bytes(8, "big")).digest()
        return f"{_OPEN}{day}{digest.hex()}" if day else digest.hex()


def is_later(address: str, day: str) -> bool:
    """Whether an address, a home or a key belongs to a day after ``day``."""
    return address.startswith(_OPEN) and address[1 : 1 + len(day)] > day > ""


def open_home(key: str) -> str:
    """The home of a key, if its query started on an earlier day of an update than it ended; otherwise empty."""
    return key.partition(HOME_END)[0] if key.startswith(_OPEN) else ""


def home(address: str) -> str:
    """The home of an address."""
    return address[:-_SHELF]


def written_at(address: str, account: str, query_id: str) -> str:
    """The key of a query at an address."""
    return f"{address[:-_SHELF]}{HOME_END}{address[-_SHELF:]}{within(account, query_id)}"


def written_of(key: str) -> tuple[str, str]:
    """The account and the query id of a key that :func:`written_at` made."""
    account, rest = parts(key)
    return account, rest.partition(HOME_END)[2][_SHELF:]


def statement_of(key: str) -> str:
    """The part of a key from :func:`written_at` that is equal for queries of one statement: the address."""
    return key[: key.index(HOME_END) + 1 + _SHELF]


def asking(query_id: str, address: str) -> str:
    """A query id with the address for answers, as one text that sorts by query id."""
    return f"{query_id}{HOME_END}{address}"


def asked(text: str) -> tuple[str, str]:
    """The query id and the address of a text from :func:`asking`."""
    query_id, _, address = text.rpartition(HOME_END)
    return query_id, address
