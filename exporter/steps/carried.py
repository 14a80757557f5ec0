"""Messages that several steps read: their ranks in the order of a key, and the bodies of facts and of attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from exporter.queries.build import query_facts
from exporter.queries.facts import History  # noqa: TC001 - msgspec reads it
from exporter.rows.row import Row  # noqa: TC001 - msgspec reads it
from exporter.things.answers import Bridge
from exporter.things.lives import Profile  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from exporter.queries.facts import QueryFacts

BEFORE, KNOWN, DATASETS, SAME_NAMES, DROPS, TAKEN, CLONES, COPIES, MENTION = range(9)
"""Ranks of the messages to an object: its story of the day before, its attributes, its datasets, objects with its name,
drops of tags and policies set on it, who took its name, the CLONEs of its schema and database, its copies that these
made, its mentions in order of time.
"""
FACTS_OF, ANSWER, JOB_NAME, BRIDGE = range(4)
"""Ranks of the messages to a query that is written: its facts, answers of objects, job names of parent and root, what
its event says in place of helpers.
"""
PARENT_BRIDGE, PARENT_JOB, HEIR = 1, 2, 3
"""Ranks of the messages to a parent after its facts: what its event says in place of helpers; the name of its job, if
another day made it; and the address of a child that needs the name.
"""
MARK: Final = 1
"""Rank of the marks of the helpers of an account, between their state of the day before and the steps of queries."""


class Told(Struct, array_like=True, gc=False):
    """The facts of a query in a message. ``new``: how many of its rows came with the run ``run``."""

    account: str
    rows: list[Row]
    history: History
    new: int
    run: int

    def facts(self) -> QueryFacts:
        """The facts, derived again from the rows; the result is always the same."""
        return query_facts(self.account, self.rows, self.history)


class Known(Struct, array_like=True, gc=False):
    """What a partition knows about an object. ``homes``: the homes of queries that mention it and need its dataset.
    ``parents``: for each partition that names jobs of parents that mention it, the key of one query.
    """

    profile: Profile
    homes: set[str]
    parents: set[str]


read_told: Final = msgspec.msgpack.Decoder(Told).decode
read_bridge: Final = msgspec.msgpack.Decoder(Bridge).decode
read_known: Final = msgspec.msgpack.Decoder(Known).decode
