"""Messages between queries and things: the only kind of value that the engines pass between steps.

An engine groups messages by ``to`` and ``key``, sorts them by ``order``, and does not interpret their bodies. Bodies
are plain values encoded by msgpack. Steps encode and decode them, so that both engines pass the same bytes.
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

# --- receivers (their names are sorted so that related receivers, such as parent-0 and parent-1, follow each other) ---

DATASET: Final = "dataset"  # a dataset receives the objects that have its name
NAME: Final = "name"  # a name receives the objects that have it
CONTAINED: Final = "contained"  # a database receives what ends it or its schemas, and what is in them
CLONED: Final = "clone-0"  # a database receives the CLONEs into it, and its tables
CLONED_FROM: Final = "clone-1"  # a database receives the CLONEs from it, and the tables that these made
ELEMENT: Final = "element"  # a tag, policy or grantee receives the objects on which it is set, and its drops
OBJECT: Final = "object"
USER: Final = "user"
AGENT: Final = "agent"
ACCOUNT: Final = "account"
ORGANIZATION: Final = "organization"
QUERY: Final = "query"  # a query receives its rows, its line of QUERY_HISTORY and its children
NAMED_FOR_PARENT: Final = "parent-0"  # the datasets from which a parent's job is named
PARENT: Final = "parent-1"  # a parent receives the facts from which its job is named
NAMED_FOR_QUERY: Final = "written-0"  # the datasets that the queries of a partition mention
WRITTEN: Final = "written-1"  # a query receives its facts and answers, and is written

READ: Final = "read"  # a user's reads of an object on a day receive the read of a query (``--reads daily``)
SHARED: Final = "shared"  # a node that many queries share, keyed by its IRI
PROFILE: Final = "profile"  # an object receives its attributes from all queries, in any order
HELPERS: Final = "helpers"  # the helpers of an account receive what queries do to them
STATEMENT: Final = "statement"  # a query that is named as a parent or root and has no row

THINGS: Final = (ACCOUNT, AGENT, OBJECT, ORGANIZATION, STATEMENT, USER)

# --- outputs and results --------------------------------------------------------------------------------------------

EVENTS: Final = "events"
GRAPH: Final = "graph"
DAILY: Final = "daily"  # reads by day, a part of the graph in separate files
CATALOG: Final = "catalog"
ENTRY: Final = "entry"  # an entry or a remark for the catalog
FACTS: Final = "facts"
PLACE: Final = "aside-0"  # the number of records in each block of a file, keyed by the file
ASIDE: Final = "aside-1"  # a quarantined row, keyed by its file
UNKNOWN: Final = "aside-2"  # what is not understood in the rows of a file, with the first place
QUARANTINE: Final = "quarantine"  # the same with its line or row number
HELD: Final = "held"  # a query to be quarantined: account, id, parent and root, reason, the day on which it started
JOB: Final = "job"  # the name of the job of a query that has to do with helpers, for its children on other days
SNAPSHOT: Final = "snapshot"  # the state of a thing, which it receives first on the next day
OPEN: Final = "open"  # a message for a later day, because its query has not ended
REFUSED: Final = "refused"  # a thing with a node that the shapes refuse: queries that mention it are quarantined
AROUND: Final = "around"  # an object receives its surroundings, for shapes that need them
RESULT: Final = "result"  # a result of validation
TALLY: Final = "tally"  # counts of one partition


@lru_cache(maxsize=1_000)
def is_text(to: str) -> bool:
    """Whether it is an output whose messages are texts for the files of an export."""
    return to.partition("-")[0] in {EVENTS, GRAPH, DAILY, CATALOG, FACTS, QUARANTINE}


class Message(NamedTuple):
    """``to`` and ``key``: the receiver, or the output. ``order``: sort key among messages of one receiver (compared
    byte by byte). ``body``: the content.
    """

    to: str
    key: str
    order: bytes
    body: bytes


_FIXED: Final = struct.Struct(">BQ").pack
_OFFSET: Final = 1 << 63


def order(rank: int, at: int = 0, by: str = "", phase: int = 0) -> bytes:
    """The order of a message: by rank, then time (microseconds since 1970), then query id, then phase."""
    return _FIXED(rank, at + _OFFSET) + by.encode("utf-8", "surrogatepass") + b"\0" + bytes((phase,))


def rank(message: Message) -> int:
    """The rank in the message's order."""
    return message.order[0]


_read_fixed: Final = struct.Struct(">BQ").unpack_from


def time_and_query(order: bytes) -> tuple[int, str]:
    """The time and the query id in an order."""
    return _read_fixed(order)[1] - _OFFSET, order[9:-2].decode("utf-8", "surrogatepass")


encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
decode: Final[Callable[[bytes], Any]] = msgspec.msgpack.Decoder().decode


HOME_END: Final = "\0"
"""Ends the home, the first part of a key. Keys with the same home are in one partition, so that a message to a home
reaches all of them. First a query's home is its id; when it is written, it is the home of its statement
(:mod:`exporter.steps.homes`).
"""


@lru_cache(maxsize=50_000)
def within(account: str, key: str) -> str:
    """A key within an account. Its home is the one of ``key``; different pairs give different keys."""
    return f"{key}{HOME_END}{account}{HOME_END}{len(account)}"


@lru_cache(maxsize=50_000)
def parts(key: str) -> tuple[str, str]:
    """Account and key from a result of :func:`within`."""
    rest, _, length = key.rpartition(HOME_END)
    start = len(rest) - int(length)
    return rest[start:], rest[: start - 1]


def by_key(messages: Iterable[Message]) -> Iterator[tuple[str, str, Iterator[Message]]]:
    """Sorted messages in groups: receiver, key, messages."""
    for (to, key), group in groupby(messages, itemgetter(0, 1)):
        yield to, key, group
