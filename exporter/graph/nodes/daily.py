"""Nodes of a graph with ``--reads daily``: what a user read of an object on a day in one role, and what such nodes
share.

A daily read is a PROV activity: PROV does not say how much one activity covers, and users and versions are linked to it
as to any other. It is not an entity, since nothing was made. A shared access pattern is not a PROV usage, since a usage
belongs to exactly one activity.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from exporter.graph.nodes.protection import enforcement_values
from exporter.graph.terms import Node
from exporter.graph.vocabulary import POLICY_ENFORCEMENT
from exporter.graph.vocabulary_daily import ACCESS_PATTERN, DAILY_READ, DAILY_READ_PART
from exporter.queries.identifiers import segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.graph.iri import Iris
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Thing
    from exporter.queries.reads import Alike

_DIGEST: Final = 10
"""Bytes of the digest that names a shared node."""
_OF_ACCOUNT: Final = "role"
"""The kind of a role of the account."""


class Part(Struct, array_like=True, gc=False):
    """Reads of one day that are alike. ``pattern``: the IRI of what was read and how, None where only a policy names
    the object; ``enforced``: IRIs, sorted; ``life``: the object's life that the versions belong to
    (:mod:`exporter.things.stories`), which keeps parts of different lives apart; ``versions``: IRIs of those that were
    read; ``count``: of queries; ``first``, ``last``: when the first and last query started (microseconds, UTC).
    """

    pattern: str | None
    enforced: tuple[str, ...]
    life: int
    versions: set[str]
    count: int
    first: int
    last: int

    @property
    def key(self) -> tuple[str | None, tuple[str, ...], int]:
        """What has to be equal for two parts to be alike."""
        return self.pattern, self.enforced, self.life

    def add(self, other: Part) -> None:
        """Adds the other part's reads."""
        self.versions |= other.versions
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


class Read(Struct, array_like=True, gc=False):
    """All reads of one object (an IRI) by one user in one role on one day. ``role``: its name; ``runs_as``: its IRI,
    None where no role has the name; ``agents``: IRIs of the user, and of software that acted for the user.
    """

    thing: str
    role: str | None
    runs_as: str | None
    agents: set[str]
    count: int
    first: int
    last: int
    parts: list[Part] = field(default_factory=list)

    def add(self, other: Read) -> None:
        """Adds the other's reads."""
        self.agents |= other.agents
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.take(other.parts)

    def take(self, parts: Iterable[Part]) -> None:
        """Adds parts, each to the part that it is alike, if there is one."""
        known = {part.key: part for part in self.parts}
        for part in parts:
            if part.key in known:
                known[part.key].add(part)
            else:
                known[part.key] = part
                self.parts.append(part)


# --- daily reads ------------------------------------------------------------------------------------------------------


def read_iri(day: str, user_name: str, role: str, object_key: str, iris: Iris) -> str:
    """``reads/DAY/USER[/as/ROLE]/of/OBJECT``. ``role``: as :func:`role_path` has it."""
    return iris.path(f"reads/{day}/{segment(user_name)}{role}/of/{object_key}")


def role_path(role_name: str | None, role: Thing | None) -> str:
    """``/as/NAME`` of a role of the account, ``/as/KIND/NAME`` of another kind of role, which can have the same name;
    empty for none.
    """
    if role_name is None:
        return ""
    kind = "" if role is None or role.kind == _OF_ACCOUNT else f"{role.kind}/"
    return f"/as/{kind}{segment(role_name)}"


def of_read(iri: str, read: Read) -> Iterator[Node]:
    """The node of a day, user, role and object; with nodes of parts where not all of its reads are alike."""
    told = _apart(read.parts)
    if len(told) == 1:
        (part,) = told
        yield Node(DAILY_READ, iri, DAILY_READ.types, _values(read, part, part))
        return
    parts = sorted(((_part_iri(iri, part), part) for part in told), key=itemgetter(0))
    values = _values(read, read, None)
    values["dcterms:hasPart"] = tuple([one for one, _ in parts])
    yield Node(DAILY_READ, iri, DAILY_READ.types, values)
    for part_iri, part in parts:
        yield Node(DAILY_READ_PART, part_iri, DAILY_READ_PART.types, _values(read, part, part))


def _apart(parts: Iterable[Part]) -> list[Part]:
    """The parts that differ; lives of an object with the same versions read are merged."""
    found: dict[tuple[str | None, tuple[str, ...], frozenset[str]], Part] = {}
    for part in parts:
        known = found.setdefault((part.pattern, part.enforced, frozenset(part.versions)), part)
        if known is not part:
            known.add(part)
    return list(found.values())


def _part_iri(iri: str, part: Part) -> str:
    """``part/DIGEST``: the digest of the whole read and of what is particular to the part."""
    above, _, path = iri.rpartition("reads/")
    return f"{above}part/{_digest(path, part.pattern, part.enforced, sorted(part.versions))}"


def _values(read: Read, told: Read | Part, part: Part | None) -> Values:
    """Without what follows: the object from the pattern, and the last time from the first if they are equal."""
    values: Values = {
        "prov:startedAtTime": (told.first,),
        "ah:queryCount": (told.count,),
        "prov:wasAssociatedWith": tuple(sorted(read.agents)),
    }
    if told.last != told.first:
        values["ah:lastStartedAtTime"] = (told.last,)
    if read.role is not None:
        values["ah:roleName"] = (read.role,)
    if read.runs_as is not None:
        values["ah:role"] = (read.runs_as,)
    if part is None or part.pattern is None:
        values["ah:accessedObject"] = (read.thing,)
    if part is not None:
        if part.versions:
            values["prov:used"] = tuple(sorted(part.versions))
        if part.pattern is not None:
            values["ah:accessPattern"] = (part.pattern,)
        if part.enforced:
            values["ah:enforced"] = part.enforced
    return values


# --- shared nodes -----------------------------------------------------------------------------------------------------


def pattern(alike: Alike, iris: Iris) -> Node | None:
    """``access/DIGEST``: what was read of an object, and how; None where nothing is listed as read."""
    if not alike.ways:
        return None
    thing, path = iris.object(alike.object_key), iris.path(alike.object_key)
    columns = [f"{path}/column/{segment(column)}" for column in alike.columns]
    values: Values = {"ah:accessedObject": (thing,)}
    if alike.names:
        values["ah:objectName"] = alike.names
    values["ah:accessType"] = alike.ways
    if columns:
        values["ah:readColumn"] = tuple(columns)
    iri = shared_iri("access", iris, *alike[:4])
    return Node(ACCESS_PATTERN, iri, ACCESS_PATTERN.types, values)


def shared_enforcements(told: Told) -> list[Node]:
    """``enforced/DIGEST``: the policies that were enforced, in the order of the facts. Queries share a node where the
    same version of a policy was enforced in the same way.
    """
    found = []
    for reference in told.content.policies:
        values = enforcement_values(reference, told)
        iri = shared_iri("enforced", told.iris, *sorted(values.items()))
        found.append(Node(POLICY_ENFORCEMENT, iri, POLICY_ENFORCEMENT.types, values))
    return found


def shared_iri(kind: str, iris: Iris, *what: Any) -> str:
    """``KIND/DIGEST``: a digest of the content of a shared node, so that nodes with the same content are one node."""
    return iris.path(f"{kind}/{_digest(*what)}")


def _digest(*what: Any) -> str:
    return blake2b(repr(what).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()
