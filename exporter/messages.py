"""What queries and things say to each other: the one kind of value that the engines carry.

An engine brings messages of one ``to`` and ``key`` together, in the order of ``order``, and knows nothing of what is in
them. Bodies are plain values that msgpack can write; a step that is in the middle decodes and encodes them itself, so
that the engine with Spark and the local one carry the same bytes.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# --- who hears a message (the names are in an order: a step hears those of one group one after the other) -----------

DATASET: Final = "dataset"  # a dataset hears of the objects that have its name
NAME: Final = "name"  # a name hears of the objects that have it
ELEMENT: Final = "element"  # a tag, a policy, what is granted: hears of the objects that it is set on, and of its drops
OBJECT: Final = "object"
USER: Final = "user"
AGENT: Final = "agent"
ACCOUNT: Final = "account"
ORGANIZATION: Final = "organization"
QUERY: Final = "query"  # a query hears its rows, its line of QUERY_HISTORY and its children
NAMED_FOR_PARENT: Final = "parent-0"  # the datasets that a parent's job is named by
PARENT: Final = "parent-1"  # a parent hears what its job is named by
NAMED_FOR_QUERY: Final = "written-0"  # the datasets that the queries of a partition speak of
WRITTEN: Final = "written-1"  # a query hears its facts and the answers, and is written

READ: Final = "read"  # a user's reads of an object on a day hear of a query (``--reads daily``)
SHARED: Final = "shared"  # a node that many queries share, keyed by its IRI
PROFILE: Final = "profile"  # an object, gathered from what all queries say of it in no order
STATEMENT: Final = "statement"  # a query that is named as a parent or root and has no row

THINGS: Final = (ACCOUNT, AGENT, OBJECT, ORGANIZATION, STATEMENT, USER)

# --- what leaves the work -------------------------------------------------------------------------------------------

EVENTS: Final = "events"
GRAPH: Final = "graph"
DAILY: Final = "daily"  # of the graph, what is told by day, in files of its own
CATALOG: Final = "catalog"
ENTRY: Final = "entry"  # what an object or a query tells the catalog
FACTS: Final = "facts"
PLACE: Final = "aside-0"  # how many records each block of a file has, keyed by the file
ASIDE: Final = "aside-1"  # a row that is quarantined, keyed by its file
QUARANTINE: Final = "quarantine"  # the same, with its line or row
HELD: Final = "held"  # a query that is held back: account, id, parent and root, reason
SNAPSHOT: Final = "snapshot"  # a message that a thing wants to hear when it goes on the next day
OPEN: Final = "open"  # a message that is heard the next day, for its query has not ended
REFUSED: Final = "refused"  # a thing with a node that the shapes refuse: who mentions it is held back
AROUND: Final = "around"  # an object hears of its surroundings, for the shapes that look around objects
RESULT: Final = "result"  # of a check
TALLY: Final = "tally"  # counts of one partition


def is_text(to: str) -> bool:
    """Whether it is an output whose messages are texts, for the files that an export leaves."""
    return to.partition("-")[0] in {EVENTS, GRAPH, DAILY, CATALOG, FACTS, QUARANTINE}


class Message(NamedTuple):
    """``to`` and ``key``: who hears it, or which output it is; ``order``: when, among those of one key (compared byte
    by byte); ``body``: what it says.
    """

    to: str
    key: str
    order: bytes
    body: bytes


_FIXED: Final = struct.Struct(">BQ").pack
_OFFSET: Final = 1 << 63


def order(rank: int, at: int = 0, by: str = "", phase: int = 0) -> bytes:
    """The order of a message: by rank, then time (microseconds), then the query that it is of, then phase."""
    return _FIXED(rank, at + _OFFSET) + by.encode("utf-8", "surrogatepass") + b"\0" + bytes((phase,))


def rank(message: Message) -> int:
    """The rank that :func:`order` was given."""
    return message.order[0]


_read_fixed: Final = struct.Struct(">BQ").unpack_from


def time_and_query(order: bytes) -> tuple[int, str]:
    """The time and the query that :func:`order` was given."""
    return _read_fixed(order)[1] - _OFFSET, order[9:-2].decode("utf-8", "surrogatepass")


encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
decode: Final[Callable[[bytes], Any]] = msgspec.msgpack.Decoder().decode


HOME_END: Final = "\0"
"""What ends the part of a key that says where its messages meet: keys of one home meet in one partition, so that what
is told once for a home reaches all of them. Until a query is told, its id is its home; it is written where queries of
the same statement are (:mod:`exporter.steps.homes`).
"""


@lru_cache(maxsize=50_000)
def within(account: str, key: str) -> str:
    """The key of something of an account, at home where the key alone is; different pairs never meet."""
    return f"{key}{HOME_END}{account}{HOME_END}{len(account)}"


@lru_cache(maxsize=50_000)
def parts(key: str) -> tuple[str, str]:
    """Account and key of what :func:`within` made."""
    rest, _, length = key.rpartition(HOME_END)
    start = len(rest) - int(length)
    return rest[start:], rest[: start - 1]


def by_key(messages: Iterable[Message]) -> Iterator[tuple[str, str, Iterator[Message]]]:
    """Messages that are in order, in groups: who hears them, the key, the messages."""
    for (to, key), group in groupby(messages, itemgetter(0, 1)):
        yield to, key, group
