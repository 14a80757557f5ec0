"""Nodes of a graph with ``--reads daily``: what a user read of an object on a day in one role, and what runs share.

A daily read is a PROV activity: PROV does not say how much one activity covers, and users and versions are linked to it
as to any other. It is not an entity, since nothing was made. A shared access pattern is not a PROV usage, since a usage
belongs to exactly one activity.

A query that writes has its nodes, but for what all runs of its statement share: it refers to patterns of accesses
(:func:`access_pattern`), its versions of columns to patterns of derivations, its changes to shared settings. So
everything in an access of one run can be found: its version is the one of the pattern's object in ``prov:used`` of the
query, since a query uses only one version of each object.

A version of a column refers to its patterns and, as with ``--reads full``, to the versions that it was filled from and
to its query. So everything in the derivation of one run can be found: for a pattern's source column, it is the version
in ``prov:wasDerivedFrom`` (a query uses only one version of each column); for a pattern without a source column, it is
the version of the source that the query used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct, field

from exporter.graph.iri import Iris
from exporter.graph.nodes.queries import Links, enforcement_values, statement_nodes
from exporter.graph.nodes.versions import QueryContext
from exporter.graph.terms import Node, Values
from exporter.graph.vocabulary import (
    ACCESS,
    ACCESS_PATTERN,
    CHANGE,
    COLUMN_DERIVATION,
    DAILY_READ,
    DAILY_READ_PART,
    DERIVATION_PATTERN,
    POLICY_ENFORCEMENT,
    SETTING,
)
from exporter.model.accesses import ReadGroup, access_groups, only_reads
from exporter.model.facts import Content, Derivation, ObjectReference
from exporter.model.identifiers import ROUTINE_KINDS, segment

Target = tuple[str, str]
"""The key of the object that was written, and the name of its column."""


def derivation_patterns(content: Content, iris: Iris) -> dict[Target, list[Node]]:
    """``derived/DIGEST``: for each written column, the columns and functions that the statement filled it from,
    sorted by IRI.
    """
    alike: dict[tuple[Any, ...], list[Derivation]] = defaultdict(list)
    for derivation in content.derivations:
        names = (
            derivation.target_key,
            derivation.target_column,
            derivation.target_name,
            derivation.source.key,
            derivation.source.name,
            derivation.source_column,
        )
        alike[names].append(derivation)
    by_target: dict[Target, list[Node]] = defaultdict(list)
    for names, derivations in alike.items():
        ways = tuple(sorted({derivation.source_type for derivation in derivations}))
        iri, values = shared_iri("derived", iris, *names, ways), _pattern_values(derivations[0], ways, iris)
        by_target[derivations[0].target_key, derivations[0].target_column].append(DERIVATION_PATTERN.node(iri, values))
    return {target: sorted(nodes, key=lambda node: node.iri) for target, nodes in by_target.items()}


def _pattern_values(derivation: Derivation, ways: tuple[str, ...], iris: Iris) -> Values:
    source = derivation.source
    values: Values = {"ah:sourceType": ways, "ah:sourceObject": (iris.object(source.key),)}
    if source.name is not None:
        values["ah:sourceName"] = (source.name,)
    if derivation.source_column is not None:
        values["ah:sourceColumn"] = (iris.column(source.key, derivation.source_column),)
    if source.kind in ROUTINE_KINDS:
        values["ah:viaFunction"] = (iris.path(source.key),)
    values["ah:targetColumn"] = (iris.column(derivation.target_key, derivation.target_column),)
    if derivation.target_name is not None:
        values["ah:targetName"] = (derivation.target_name,)
    return values


def leading_to_patterns(nodes: list[Node], query: QueryContext) -> list[Node]:
    """The nodes, with references from versions of columns to their patterns."""
    by_version = {
        query.iris.column_state(key, query.version, column): tuple([node.iri for node in patterns])
        for (key, column), patterns in derivation_patterns(query.content, query.iris).items()
    }
    return [
        node._replace(values={**node.values, "ah:derivationPattern": by_version[node.iri]})
        if node.iri in by_version
        else node
        for node in nodes
    ]


_NOT_WRITTEN: Final = (ACCESS, COLUMN_DERIVATION)


def shared_patterns(content: Content, iris: Iris) -> list[Node]:
    """The patterns that the runs of a statement share."""
    of_columns = [node for nodes in derivation_patterns(content, iris).values() for node in nodes]
    return _of_accesses(content, iris) + of_columns


def _of_accesses(content: Content, iris: Iris) -> list[Node]:
    return [node for alike in access_groups(content) if (node := access_pattern(alike, iris)) is not None]


def sharing_nodes(query: QueryContext) -> tuple[list[Node], Links]:
    """The result of :func:`exporter.graph.nodes.queries.statement_nodes`, without what the statement shares."""
    return without_shared(*statement_nodes(query), query)


def without_shared(nodes: list[Node], links: Links, query: QueryContext) -> tuple[list[Node], Links]:
    """The nodes and links of a statement, with references to its patterns. Those of a statement that only reads are
    returned as they are: its reads are added up by day.
    """
    if only_reads(query.content):
        return nodes, links
    used = tuple(sorted(node.iri for node in _of_accesses(query.content, query.iris)))
    remaining = leading_to_patterns([node for node in nodes if node.of not in _NOT_WRITTEN], query)
    return remaining, links._replace(usages=(), derivations={}, patterns=used)


def with_shared_settings(nodes: list[Node], iris: Iris) -> tuple[list[Node], list[Node]]:
    """The nodes of a run without settings that other runs share, and these: ``setting/DIGEST``. Tags and policies are
    not shared, since each time that one is set has a period.
    """
    shared = {
        node.iri: node._replace(iri=shared_iri("setting", iris, *sorted(node.values.items())))
        for node in nodes
        if node.of is SETTING and "ah:elementObject" not in node.values
    }
    if not shared:
        return nodes, []
    remaining = [_referring(node, shared) for node in nodes if node.iri not in shared]
    return remaining, list({node.iri: node for node in shared.values()}.values())


def _referring(node: Node, shared: dict[str, Node]) -> Node:
    """The node with references to the shared settings."""
    if node.of is not CHANGE or "ah:hasSetting" not in node.values:
        return node
    settings = {shared[text].iri if text in shared else text for text in map(str, node.values["ah:hasSetting"])}
    return node._replace(values={**node.values, "ah:hasSetting": tuple(sorted(settings))})


_DIGEST: Final = 10
"""Bytes of the digest that names a shared node."""
_OF_ACCOUNT: Final = "role"
"""The kind of a role of the account."""


class DailyReadPart(Struct, array_like=True, gc=False):
    """Reads of one day that are alike. ``pattern``: the IRI of what was read and how, None where only a policy names
    the object; ``enforced``: IRIs, sorted; ``chain``: the number of the chain that the versions belong to
    (:class:`exporter.model.object_history.ObjectAnswer`), which keeps parts of different chains apart; ``versions``:
    IRIs of those that were read; ``count``: of queries; ``first``, ``last``: when the first and last query started
    (microseconds, UTC).
    """

    pattern: str | None
    enforced: tuple[str, ...]
    chain: int
    versions: set[str]
    count: int
    first: int
    last: int

    @property
    def key(self) -> tuple[str | None, tuple[str, ...], int]:
        """What has to be equal for two parts to be alike."""
        return self.pattern, self.enforced, self.chain

    def add(self, other: DailyReadPart) -> None:
        """Adds the other part's reads."""
        self.versions |= other.versions
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


class DailyRead(Struct, array_like=True, gc=False):
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
    parts: list[DailyReadPart] = field(default_factory=list)

    def add(self, other: DailyRead) -> None:
        """Adds the other's reads."""
        self.agents |= other.agents
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.take(other.parts)

    def take(self, parts: Iterable[DailyReadPart]) -> None:
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


def role_path(role_name: str | None, role: ObjectReference | None) -> str:
    """``/as/NAME`` of a role of the account, ``/as/KIND/NAME`` of another kind of role, which can have the same name;
    empty for none.
    """
    if role_name is None:
        return ""
    kind = "" if role is None or role.kind == _OF_ACCOUNT else f"{role.kind}/"
    return f"/as/{kind}{segment(role_name)}"


def daily_read_nodes(iri: str, read: DailyRead) -> Iterator[Node]:
    """The node of a day, user, role and object; with nodes of parts where not all of its reads are alike."""
    daily_read_parts = _distinct_parts(read.parts)
    if len(daily_read_parts) == 1:
        (part,) = daily_read_parts
        yield DAILY_READ.node(iri, _read_values(read, part, part))
        return
    parts = sorted(((_part_iri(iri, part), part) for part in daily_read_parts), key=itemgetter(0))
    values = _read_values(read, read, None)
    values["dcterms:hasPart"] = tuple([text for text, _ in parts])
    yield DAILY_READ.node(iri, values)
    for part_iri, part in parts:
        yield DAILY_READ_PART.node(part_iri, _read_values(read, part, part))


def _distinct_parts(parts: Iterable[DailyReadPart]) -> list[DailyReadPart]:
    """The parts that differ; chains of an object with the same versions read are merged."""
    daily_read_parts: dict[tuple[str | None, tuple[str, ...], frozenset[str]], DailyReadPart] = {}
    for part in parts:
        known = daily_read_parts.setdefault((part.pattern, part.enforced, frozenset(part.versions)), part)
        if known is not part:
            known.add(part)
    return list(daily_read_parts.values())


def _part_iri(iri: str, part: DailyReadPart) -> str:
    """``part/DIGEST``: the digest of the whole read and of what is particular to the part."""
    above, _, path = iri.rpartition("reads/")
    return f"{above}part/{_digest(path, part.pattern, part.enforced, sorted(part.versions))}"


def _read_values(read: DailyRead, counted: DailyRead | DailyReadPart, part: DailyReadPart | None) -> Values:
    """Without what follows: the object from the pattern, and the last time from the first if they are equal."""
    values: Values = {
        "prov:startedAtTime": (counted.first,),
        "ah:queryCount": (counted.count,),
        "prov:wasAssociatedWith": tuple(sorted(read.agents)),
    }
    if counted.last != counted.first:
        values["ah:lastStartedAtTime"] = (counted.last,)
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


def access_pattern(alike: ReadGroup, iris: Iris) -> Node | None:
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
    return ACCESS_PATTERN.node(iri, values)


def shared_enforcements(query: QueryContext) -> list[Node]:
    """``enforced/DIGEST``: the policies that were enforced, in the order of the facts. Queries share a node where the
    same version of a policy was enforced in the same way.
    """
    enforcements = []
    for reference in query.content.policies:
        values = enforcement_values(reference, query)
        iri = shared_iri("enforced", query.iris, *sorted(values.items()))
        enforcements.append(POLICY_ENFORCEMENT.node(iri, values))
    return enforcements


def shared_iri(kind: str, iris: Iris, *content: Any) -> str:
    """``KIND/DIGEST``: a digest of the content of a shared node, so that nodes with the same content are one node."""
    return iris.path(f"{kind}/{_digest(*content)}")


def _digest(*content: Any) -> str:
    return blake2b(repr(content).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()
