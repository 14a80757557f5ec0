"""Messages between queries and objects: the only kind of value that the engines pass between steps.

An engine groups messages by ``to`` and ``key``, sorts them by ``order``, and does not interpret their bodies. Bodies to
receivers are msgpack or empty, except why a thing is refused (REFUSED, in UTF-8) and RESULT (JSON). Bodies to outputs
(:func:`is_text`) are text that goes to a file unchanged. Steps encode and decode them, so that both engines pass the
same bytes.

An address consists of a bucket and a statement key. A bucket is processed by one worker in the round that writes. A
statement key has the queries of one statement, so that they are written one after the other, and what they share is
made once.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.model.answers import Bridge
from exporter.model.facts import Content, QueryFacts
from exporter.model.object_state import Profile
from exporter.system.cache import CONTENTS, Recent


class To:
    """The receivers of messages, and the outputs and results of an export. The names are sorted so that related
    receivers, such as ``parent-0`` and ``parent-1``, follow each other.
    """

    DATASET: Final = "dataset"  # a dataset receives the objects that have its name
    NAME: Final = "name"  # a name receives the objects that have it
    CONTAINED: Final = "contained"  # a database receives what ends it or its schemas, and what is in them
    CLONED: Final = "clone-0"  # a database receives the CLONEs into it, and its tables
    CLONED_FROM: Final = "clone-1"  # a database receives the CLONEs from it, and the tables that these made
    ELEMENT: Final = "element"  # a tag, policy or grantee receives the objects on which it is set, and its drops
    OBJECT: Final = "object"
    COPY: Final = "copy"  # a table that a CLONE brought receives the version of that, and what became of it
    USER: Final = "user"
    AGENT: Final = "agent"
    ACCOUNT: Final = "account"
    ORGANIZATION: Final = "organization"
    UNRECORDED_QUERY: Final = "unrecorded"  # a query that is named as a parent or root and has no row
    QUERY: Final = "query"  # a query receives its rows, its line of QUERY_HISTORY and its children
    NAMED_FOR_PARENT: Final = "parent-0"  # the datasets from which a parent's job is named
    PARENT: Final = "parent-1"  # a parent receives the facts from which its job is named
    NAMED_FOR_QUERY: Final = "written-0"  # the datasets that the queries of a partition mention
    WRITTEN: Final = "written-1"  # a query receives its facts and answers, and is written
    READ: Final = "read"  # a user's reads of an object on a day receive the read of a query (``--reads daily``)
    SHARED: Final = "shared"  # a node that many queries share, keyed by its IRI
    PROFILE: Final = "profile"  # an object receives its attributes from all queries, in any order
    HELPERS: Final = "helpers"  # the helpers of an account receive what queries do to them
    AROUND: Final = "around"  # an object receives its surroundings, for shapes that need them
    PLACE: Final = "aside-0"  # the number of records in each block of a file, keyed by the file
    QUARANTINED_ROWS: Final = "aside-1"  # a quarantined row, keyed by its file
    UNKNOWN: Final = "aside-2"  # what is not understood in the rows of a file, with the first place

    # outputs
    EVENTS: Final = "events"
    GRAPH: Final = "graph"
    DAILY: Final = "daily"  # reads by day, a part of the graph in separate files
    CATALOG: Final = "catalog"
    ENTRY: Final = "entry"  # an entry or a note for the catalog
    FACTS: Final = "facts"
    QUARANTINE: Final = "quarantine"  # a quarantined row with its line or row number

    # results
    QUARANTINED: Final = "held"  # a query to be quarantined: account, id, parent and root, reason, day of its start
    REFUSED: Final = "refused"  # a thing with a node that the shapes refuse: queries that mention it are quarantined
    JOB: Final = "job"  # the name of the job of a query that has to do with helpers, for its children on other days
    SNAPSHOT: Final = "snapshot"  # the state of a thing, which it receives first on the next day
    OPEN: Final = "open"  # a message for a later day, because its query has not ended
    RESULT: Final = "result"  # a result of validation
    TALLY: Final = "tally"  # counts of one partition
    TOTAL: Final = "total"  # counts of a whole export, and the results that refuse a node, by shape


THINGS: Final = (To.ACCOUNT, To.AGENT, To.OBJECT, To.ORGANIZATION, To.UNRECORDED_QUERY, To.USER)


@lru_cache(maxsize=1_000)
def is_text(to: str) -> bool:
    """Whether it is an output whose messages are texts for the files of an export."""
    return to.partition("-")[0] in {To.EVENTS, To.GRAPH, To.DAILY, To.CATALOG, To.FACTS, To.QUARANTINE}


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
    """The order of a message: by rank, then time (microseconds since 1970), then query id, then phase. So the rank is
    the first byte: ``message.order[0]``.
    """
    return _FIXED(rank, at + _OFFSET) + by.encode("utf-8", "surrogatepass") + b"\0" + bytes((phase,))


AT_RANK: Final = tuple(map(order, range(10)))
"""The orders of messages that need no time, by their rank."""
_read_fixed: Final = struct.Struct(">BQ").unpack_from


def time_and_query(order: bytes) -> tuple[int, str]:
    """The time and the query id in an order."""
    return _read_fixed(order)[1] - _OFFSET, order[9:-2].decode("utf-8", "surrogatepass")


encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
decode: Final[Callable[[bytes], Any]] = msgspec.msgpack.Decoder().decode


BUCKET_END: Final = "\0"
"""Ends the bucket, the first part of a key. Keys with the same bucket are in one partition, so that a message to a
bucket reaches all of them. First a query's bucket is its id; when it is written, it is that of its statement.
"""


@lru_cache(maxsize=50_000)
def account_key(account: str, key: str) -> str:
    """A key within an account. Its bucket is the one of ``key``; different pairs give different keys."""
    return f"{key}{BUCKET_END}{account}{BUCKET_END}{len(account)}"


@lru_cache(maxsize=50_000)
def split_key(key: str) -> tuple[str, str]:
    """Account and key from a result of :func:`account_key`."""
    rest, _, length = key.rpartition(BUCKET_END)
    start = len(rest) - int(length)
    return rest[start:], rest[: start - 1]


by_receiver: Final = itemgetter(0, 1)
"""The key by which :func:`itertools.groupby` puts sorted messages in groups: the receiver."""


def for_each(
    to: str, messages: Iterable[Message], step: Callable[[str, Iterator[Message]], Iterable[Message]]
) -> Iterator[Message]:
    """Run a step on the key and the messages of each receiver of a kind. Messages for other receivers pass through."""
    for (receiver, key), group in groupby(messages, by_receiver):
        if receiver == to:
            yield from step(key, group)
        else:
            yield from group


class QueryRank:
    """Ranks of the messages to a query: its rows, its lines of QUERY_HISTORY, its children, that it is quarantined,
    (CONTEXT) its rows if it is of another day and only the name of its job is needed, (JOB) that name if another
    day made it, and (REFUSED) that the shapes refused it before, if an update has other shapes.
    """

    ROW, LINE, CHILD, QUARANTINED, CONTEXT, JOB, REFUSED = range(7)


class ObjectRank:
    """Ranks of the messages to an object: its state of the day before, its attributes, its datasets, objects with its
    name, drops of tags and policies set on it, who took its name, when its schema or database was dropped and restored,
    the CLONEs of its schema and database, its copies that these made, its uses in order of time.
    """

    BEFORE, KNOWN, DATASETS, SAME_NAMES, DROPS, TAKEN, ABSENCES, CLONES, COPIES, USE = range(10)


class NameRank:
    """Ranks of the messages to a name: objects that are known only by it, objects with an id that have or had it,
    copies of what had it, and what ended the schema or database of such an object, as known on the day before and now.
    """

    BY_NAME, HAS_ID, COPY, ENDED_BEFORE, ENDED = range(5)


class WrittenRank:
    """Ranks of the messages to a query that is written: its facts, answers of objects, job names of parent and root,
    what its event says in place of helpers.
    """

    FACTS, ANSWER, JOB_NAME, BRIDGE = range(4)


class ParentRank:
    """Ranks of the messages to a parent: its facts, what its event says in place of helpers, the name of its job, if
    another day made it, and the address of a child that needs the name.
    """

    FACTS, BRIDGE, JOB, CHILD = range(4)


class HelpersRank:
    """Ranks of the messages to the helpers of an account: their state of the day before, marks, steps of queries."""

    BEFORE, MARK, STEP = 0, 1, 9


class QueryRecord(Struct, array_like=True, gc=False):
    """The facts of a query in a message. ``content``: what its statement did, as :func:`encoded` makes it; that of
    ``run_facts`` is empty. ``new``: how many of its rows came with the run ``run``.
    """

    run_facts: QueryFacts
    content: bytes
    new: int
    run: int

    @classmethod
    def of(cls, facts: QueryFacts, new: int, run: int) -> QueryRecord:
        return cls(replace(facts, content=_NO_CONTENT), encoded(facts.content), new, run)

    def facts(self) -> QueryFacts:
        """The facts; queries of one statement share their content."""
        return replace(self.run_facts, content=decoded(self.content))

    def fresh(self, run: int) -> NewRows:
        """How many of the query's rows this run added, and whether it added all of them."""
        rows = self.new if self.run == run else 0
        return NewRows(rows, is_query=rows == self.run_facts.row_count)


_NO_CONTENT: Final = Content()
_SHORT: Final = 16 * 1024
"""Bytes of an encoded content. What longer ones say is not cached: it would fill the memory."""
_encoded: Final[Recent[bytes]] = Recent(CONTENTS)
_read_content: Final = msgspec.msgpack.Decoder(Content).decode
_decoded: Final = lru_cache(maxsize=8_000)(_read_content)
"""Locally, few would be enough. On Spark, writing 200,000 rows took longer with 1,000, in two runs of each."""


def encoded(content: Content) -> bytes:
    """A content for a message."""
    known = _encoded.get(content)
    if known is None:
        known = encode(content)
        _encoded.keep(content, known, len(known))
    return known


def decoded(content: bytes) -> Content:
    """The content that :func:`encoded` gave; queries of one statement share the result."""
    return _decoded(content) if len(content) <= _SHORT else _read_content(content)


class NewRows(NamedTuple):
    """What of a query came with this run: its ``rows``, and whether all of them did (``is_query``)."""

    rows: int
    is_query: bool


class Known(Struct, array_like=True, gc=False):
    """What a partition knows about an object. ``buckets``: of queries that mention it and need its dataset.
    ``parents``: for each partition that names jobs of parents that mention it, the key of one query.
    """

    profile: Profile
    buckets: set[str]
    parents: set[str]


read_query_record: Final = msgspec.msgpack.Decoder(QueryRecord).decode
read_bridge: Final = msgspec.msgpack.Decoder(Bridge).decode
read_known: Final = msgspec.msgpack.Decoder(Known).decode


_MOST: Final = 500
"""Most queries of one statement from one partition at one bucket; a very frequent statement gets several buckets."""
_KEY_DIGITS: Final = 12
"""Hexadecimal digits of a statement key."""
_MOST_DIGITS: Final = 4
_BUCKETS: Final = 8
"""Buckets for each partition, at least: with fewer, some partitions get much more than others. An object sends a
message to each bucket.
"""
_OPEN: Final = "!"


class Addresses:
    """Gives addresses to the queries of one partition. ``partitions``: how many there are in a round."""

    def __init__(self, partitions: int) -> None:
        enough = (digits for digits in range(1, _MOST_DIGITS) if 16**digits >= _BUCKETS * partitions)
        self._length = next(enough, _MOST_DIGITS) + _KEY_DIGITS
        self._queries: Counter[bytes] = Counter()

    def of(self, content: bytes, day: str = "") -> str:
        """The address of a query whose first row has this content. ``day``: the later day on which it ends; empty for
        the same day.
        """
        digest = blake2b(content, digest_size=8).digest()
        number = self._queries[digest]
        self._queries[digest] = number + 1
        if number >= _MOST:
            digest = blake2b(digest, digest_size=8, salt=(number // _MOST).to_bytes(8, "big")).digest()
        address = digest.hex()[-self._length :]
        return f"{_OPEN}{day}{address}" if day else address


def is_later(address: str, day: str) -> bool:
    """Whether an address, a bucket or a key belongs to a day after ``day``."""
    return address.startswith(_OPEN) and address[1 : 1 + len(day)] > day > ""


def open_bucket(key: str) -> str:
    """The bucket of a key, if its query started on an earlier day of an update than it ended; otherwise empty."""
    return key.partition(BUCKET_END)[0] if key.startswith(_OPEN) else ""


def bucket(address: str) -> str:
    """The bucket of an address."""
    return address[:-_KEY_DIGITS]


def query_key(address: str, account: str, query_id: str) -> str:
    """The key of a query at an address."""
    return f"{address[:-_KEY_DIGITS]}{BUCKET_END}{address[-_KEY_DIGITS:]}{account_key(account, query_id)}"


def split_query_key(key: str) -> tuple[str, str]:
    """The account and the query id of a key that :func:`query_key` made."""
    account, rest = split_key(key)
    return account, rest.partition(BUCKET_END)[2][_KEY_DIGITS:]


def statement_of(key: str) -> str:
    """The part of a key from :func:`query_key` that is equal for queries of one statement: the address."""
    return key[: key.index(BUCKET_END) + 1 + _KEY_DIGITS]


def join_requester(query_id: str, address: str) -> str:
    """A requester: a query id with the address for answers, as one text that sorts by query id."""
    return f"{query_id}{BUCKET_END}{address}"


def split_requester(text: str) -> tuple[str, str]:
    """The query id and the address of a text from :func:`join_requester`."""
    query_id, _, address = text.rpartition(BUCKET_END)
    return query_id, address
