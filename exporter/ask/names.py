"""Looks up the names that a question gives, before it is asked, so that an empty answer comes with its reason.

A note says which name, id, kind, column, user, agent or query the graph does not have, with the nearest that it has;
and which objects have another name now. An error says which name or id several kinds of things have, with the choice of
kinds.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode, Store

from exporter.ask.parameters import Parameter, instant, values_of
from exporter.errors import UsageError
from exporter.graph.terms import DOMAIN_CLASSES, KIND_CLASSES, full
from exporter.model.identifiers import match_name
from exporter.privacy.pseudonyms import PSEUDONYM
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from exporter.ask.parameters import ParameterValues

NEAREST: Final = 3
"""How many of the nearest names a message lists."""
_MANY: Final = 5_000
"""Up to so many names are all compared, in some tenths of a second. Of more, only those with a similar start or end
are.
"""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class NameHolder:
    """An object and a period in which it had a name: from ``since`` until ``until`` (None: it still has it), times in
    the form of the graph.

    ``iri``: the object; ``domain``: its kind; ``ident``: Snowflake's id, None where no row gives it.
    """

    since: str
    iri: str
    domain: str
    ident: str | None
    name: str
    until: str | None

    @property
    def order(self) -> tuple[datetime, str, datetime]:
        """The sort key: by the start, of one object the present name last. Times of the graph cannot be compared as
        texts, since they have fractions of any length.
        """
        start, end = (datetime.fromisoformat(time) if time else _NEVER for time in (self.since, self.until))
        return start, self.iri, end

    @property
    def thing(self) -> str:
        """``Table 66564``."""
        return f"{self.domain} {self.ident}" if self.ident else f"{self.domain} without an id"

    @property
    def account(self) -> str:
        """The part of its IRI that the IRIs of all objects of its account begin with."""
        return self.iri.rsplit("/", 2 if self.ident else 3)[0]


class Lookups:
    """Look-ups in one graph."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def has_names_to_match(self) -> bool:
        """False for a graph that an older version made: its names have no ``ah:matchName``."""
        return self._any("ah:matchName") or not self._any("ah:nameText")

    def holders(self, name: str) -> list[NameHolder]:
        """Every object that had the name, once for each period in which it had it, ordered by the start."""
        name_nodes = self._subjects("ah:matchName", Literal(match_name(name)))
        return sorted(
            (holder for named_node in name_nodes for holder in self._holders(named_node)),
            key=lambda holder: holder.order,
        )

    def names_of(self, iri: str) -> list[NameHolder]:
        """All names that an object had, ordered by when it got them."""
        names = self._objects(NamedNode(iri), "ah:hasName")
        holders = (holder for name in names if isinstance(name, NamedNode) for holder in self._holders(name))
        return sorted(holders, key=lambda holder: holder.order)

    def _holders(self, name_node: NamedNode) -> Iterator[NameHolder]:
        since, text = self._text(name_node, "ah:validFrom"), self._text(name_node, "ah:nameText")
        if since is None or text is None:
            return
        for thing in self._subjects("ah:hasName", name_node):
            domain, ident = self._text(thing, "ah:domain"), self._text(thing, "ah:objectId")
            yield NameHolder(
                since, thing.value, domain or "Object", ident, text, self._text(name_node, "ah:validUntil")
            )

    def location(self, url: str) -> NameHolder | None:
        """The location outside of Snowflake with this URL; None if the graph has none. It has no periods."""
        for thing in sorted(self._subjects("ah:locationUrl", Literal(url.strip('"'))), key=str):
            if not any(self._objects(thing, "ah:hasName")):
                return NameHolder("", thing.value, self._text(thing, "ah:domain") or "Object", None, "", None)
        return None

    def of_id(self, ident: str) -> list[NameHolder]:
        """The objects with the id, each once, under its latest name."""
        holders = []
        for thing in self._subjects("ah:objectId", Literal(ident)):
            names = self.names_of(thing.value)
            domain = self._text(thing, "ah:domain") or "Object"
            holders.append(names[-1] if names else NameHolder("", thing.value, domain, ident, "", None))
        return sorted(holders, key=lambda holder: holder.domain)

    def is_of_kind(self, iri: str, kind: str) -> bool:
        """Whether an object is of the kind ``kind`` (in any spelling), by its domain or one of its classes."""
        thing = NamedNode(iri)
        classes = [class_node.value.rpartition("#")[2] for class_node in self._objects(thing, "rdf:type")]
        return _plain(kind) in {_plain(self._text(thing, "ah:domain") or ""), *map(_plain, classes)}

    def has_kind(self, kind: str) -> bool:
        """Whether the graph has any object of the kind."""
        if _plain(kind) in map(_plain, self.kinds()):
            return True
        class_names = {*DOMAIN_CLASSES.values(), *(name for names in KIND_CLASSES.values() for name in names)}
        classes = [name for name in class_names if _plain(name.partition(":")[2]) == _plain(kind)]
        return any(self._subjects("rdf:type", NamedNode(full(name))) for name in classes)

    def kinds(self) -> list[str]:
        """The kinds of objects in the graph."""
        return sorted(self._texts("ah:domain"))

    def has_column(self, name: str, things: Iterable[str]) -> bool:
        """Whether any of the objects has a column of that name."""
        columns = self._subjects("ah:matchName", Literal(match_name(name)))
        owners = {owner.value for column in columns for owner in self._objects(column, "ah:columnOf")}
        return not owners.isdisjoint(things)

    def columns(self, things: Iterable[str]) -> set[str]:
        """The names of the objects' columns."""
        columns = [subject for thing in things for subject in self._subjects("ah:columnOf", NamedNode(thing))]
        return {name for column in columns if (name := self._text(column, "ah:columnName"))}

    def has_user(self, name: str) -> bool:
        """Whether there is a user of that name; one in quotes has to be as Snowflake stores it."""
        if name.startswith('"'):
            stored = name.removeprefix('"').removesuffix('"').replace('""', '"')
            return bool(self._subjects("ah:userName", Literal(stored)))
        name_nodes = self._subjects("ah:matchName", Literal(match_name(name)))
        return any(self._text(name_node, "ah:userName") is not None for name_node in name_nodes)

    def has_agent(self, name: str) -> bool:
        """Whether there is a software agent of that name."""
        key = match_name(name)
        return any(key == (text if '"' in text else text.upper()) for text in self._texts("ah:agentName"))

    def has_query(self, ident: str) -> bool:
        """Whether the graph has a query with the id: one with a row, or one that another names as its parent."""
        return bool(self._subjects("ah:queryId", Literal(ident)))

    def every(self, term: str) -> set[str]:
        """All texts of a property: ``ah:nameText``, ``ah:userName``, ``ah:queryId`` …"""
        return self._texts(term)

    # --- triples ------------------------------------------------------------------------------------------------------

    def _any(self, term: str) -> bool:
        return next(self._store.quads_for_pattern(None, NamedNode(full(term)), None), None) is not None

    def _subjects(self, term: str, value: Literal | NamedNode) -> list[NamedNode]:
        quads = self._store.quads_for_pattern(None, NamedNode(full(term)), value)
        return [quad.subject for quad in quads if isinstance(quad.subject, NamedNode)]

    def _objects(self, subject: NamedNode, term: str) -> list[NamedNode | Literal]:
        quads = self._store.quads_for_pattern(subject, NamedNode(full(term)), None)
        return [quad.object for quad in quads if isinstance(quad.object, NamedNode | Literal)]

    def _text(self, subject: NamedNode, term: str) -> str | None:
        return min((node.value for node in self._objects(subject, term)), default=None)

    def _texts(self, term: str) -> set[str]:
        quads = self._store.quads_for_pattern(None, NamedNode(full(term)), None)
        return {quad.object.value for quad in quads if isinstance(quad.object, Literal)}


def _plain(kind: str) -> str:
    """``External table``, ``EXTERNAL_TABLE`` and ``ExternalTable`` are one kind."""
    return kind.lower().replace(" ", "").replace("_", "")


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The names that are most similar to ``name``; names with the same last part come first."""
    key, by_match = match_name(name), {match_name(text): text for text in names}
    last = f".{key.rpartition('.')[2]}"
    same_last_part = sorted(text for text in by_match if text.endswith(last) and text != key)
    similar = get_close_matches(key, _alike(key, by_match), n=NEAREST)
    if same_last_part and similar and similar[0] in same_last_part:
        same_last_part, similar = similar, same_last_part
    return [by_match[text] for text in dict.fromkeys([*same_last_part, *similar])][:NEAREST]


def _alike(key: str, names: Collection[str]) -> list[str]:
    """All of the names if they are few. Of many, those next to the wanted one when sorted by beginning and by end."""
    if len(names) <= _MANY:
        return sorted(names)
    forward, backward = sorted(names), sorted(name[::-1] for name in names)
    beginning, end = bisect_left(forward, key), bisect_left(backward, key[::-1])
    half = _MANY // 4
    texts = forward[max(0, beginning - half) : beginning + half]
    texts += [text[::-1] for text in backward[max(0, end - half) : end + half]]
    return sorted(set(texts))


_SHOWN: Final = 20
"""How many objects, and how many former names, a message lists at most."""
_ONE_SPACE: Final = frozenset(("Table", "View"))
"""Kinds that share their names: of these, no two objects have one name at one time (Snowflake, "Identifier
requirements").
"""
LOCATION_ALONE: Final = (
    "A location outside of Snowflake has no name. Questions take its URL in the place of a name if it is the only one, "
    "but for sensitive-data-movement; exporter serve has a page of it."
)
_ASIDE: Final = ("Tag", "Object")
"""Kinds that do not make a name ambiguous: tags are asked for by their own parameter, and "Object" may be any kind."""


@dataclass
class ResolvedParameters:
    """The parameters of a question after the look-up.

    ``params``: with those that the look-up added; ``notes``: what the person has to know; ``things``: the IRIs of the
    objects that names and ids mean, at any time; ``location``: the location outside of Snowflake whose URL is given in
    the place of a name, alone.
    """

    params: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)
    things: set[str] = field(default_factory=set)
    location: NameHolder | None = None


def look_up(store: Store, parameters: Sequence[Parameter], params: ParameterValues) -> ResolvedParameters:
    """Looks up the values of all parameters; raises UsageError where a name or id is ambiguous."""
    resolved = ResolvedParameters({name: values_of(params, name) for name in params})
    by_kind = {parameter.kind: parameter for parameter in parameters if parameter.name in params}
    lookups = Lookups(store)
    _look_up_kinds(lookups, by_kind, resolved)
    things = resolved.things = _look_up_objects(lookups, parameters, by_kind, resolved)
    if "column" in by_kind:
        _look_up_columns(lookups, by_kind["column"], things, resolved)
    if "tag" in by_kind:
        _look_up_tags(lookups, by_kind["tag"], resolved)
    if "user" in by_kind:
        _look_up_texts(lookups, by_kind["user"], lookups.has_user, "ah:userName", resolved)
    if "agent" in by_kind:
        _look_up_texts(lookups, by_kind["agent"], lookups.has_agent, "ah:agentName", resolved)
    if "query" in by_kind:
        _look_up_texts(lookups, by_kind["query"], lookups.has_query, "ah:queryId", resolved)
    return resolved


def _look_up_texts(
    lookups: Lookups, parameter: Parameter, has: Callable[[str], bool], term: str, resolved: ResolvedParameters
) -> None:
    for value in resolved.params[parameter.name]:
        if not has(value):
            resolved.notes.append(_none(parameter.kind, value, lookups.every(term)))
            if parameter.kind == "user" and any(PSEUDONYM.fullmatch(name) for name in lookups.every(term)):
                resolved.notes.append(
                    "Users have pseudonyms in this graph (export --pseudonyms): ask by the pseudonym, which the key "
                    "makes from the name (docs/privacy.md)."
                )


def _look_up_columns(lookups: Lookups, parameter: Parameter, things: set[str], resolved: ResolvedParameters) -> None:
    """Looks up columns of the resolved objects; without such objects there is nothing to add."""
    for value in resolved.params[parameter.name] if things else ():
        if not lookups.has_column(value, things):
            resolved.notes.append(_none("column", value, lookups.columns(things)).replace("the graph", "the object"))


def _look_up_tags(lookups: Lookups, parameter: Parameter, resolved: ResolvedParameters) -> None:
    for value in resolved.params[parameter.name]:
        if not any(holder.domain == "Tag" for holder in lookups.holders(value)):
            resolved.notes.append(_none("tag", value, lookups.every("ah:nameText")))


def _none(word: str, value: str, candidates: Iterable[str]) -> str:
    similar = nearest(value, candidates)
    return f"There is no {word} {value} in the graph." + (f" The nearest: {', '.join(similar)}." if similar else "")


def _look_up_kinds(lookups: Lookups, by_kind: dict[str, Parameter], resolved: ResolvedParameters) -> None:
    for kind in resolved.params[by_kind["domain"].name] if "domain" in by_kind else ():
        if not lookups.has_kind(kind):
            resolved.notes.append(
                f"There is no object of the kind {kind} in the graph, but: {', '.join(lookups.kinds())}."
            )


# --- objects ----------------------------------------------------------------------------------------------------------


def _look_up_objects(
    lookups: Lookups, parameters: Sequence[Parameter], by_kind: dict[str, Parameter], resolved: ResolvedParameters
) -> set[str]:
    """The objects that names and ids mean, at any time."""
    domain = next((parameter for parameter in parameters if parameter.kind == "domain"), None)
    kinds = resolved.params.get(domain.name, []) if domain else []
    idents = resolved.params.get(by_kind["object id"].name, []) if "object id" in by_kind else []
    if "object" not in by_kind:
        default = [domain.default] if domain and domain.default else []
        return {holder.iri for ident in idents for holder in _of_id(lookups, ident, kinds or default, resolved)}
    if not lookups.has_names_to_match():
        raise UsageError(
            "This graph holds no names to match, since an older version of exporter made it: export its rows again "
            "(exporter export … --replace), or ask by --param object_id=ID."
        )
    names = resolved.params[by_kind["object"].name]
    by_name = {name: _of_name(lookups, name, kinds, idents, resolved) for name in names}
    if not kinds and not idents:
        _choose(domain, by_name, resolved)
    locations = [holder for holders in by_name.values() for holder in holders if not holder.since]
    if len(locations) == len(by_name) == 1:
        resolved.location = locations[0]
    elif locations:
        resolved.notes.append(LOCATION_ALONE)
    return {holder.iri for holders in by_name.values() for holder in holders}


def _of_name(
    lookups: Lookups, name: str, kinds: list[str], idents: list[str], resolved: ResolvedParameters
) -> list[NameHolder]:
    location = lookups.location(name)
    holders = lookups.holders(name) or ([location] if location else [])
    if not holders:
        resolved.notes.append(_none("object", name, lookups.every("ah:nameText")))
        return []
    matching = [
        holder
        for holder in holders
        if (not kinds or any(lookups.is_of_kind(holder.iri, kind) for kind in kinds))
        and (not idents or holder.ident in idents)
    ]
    if matching:
        accounts = {holder.account for holder in matching}
        if len(accounts) > 1:
            resolved.notes.append(
                f"{name} is a name in {len(accounts)} accounts: the answer has the objects with this name in each."
            )
        resolved.notes += _renamed(lookups, name, matching, resolved.params) if matching != [location] else ()
    else:
        restrictions = " and ".join(
            [*(f"domain={kind}" for kind in kinds), *(f"object_id={ident}" for ident in idents)]
        )
        resolved.notes.append(f"No object that was called {name} has {restrictions}. There is:{_listed(holders)}")
    return matching


def _of_id(lookups: Lookups, ident: str, kinds: list[str], resolved: ResolvedParameters) -> list[NameHolder]:
    things = lookups.of_id(ident)
    if not things:
        resolved.notes.append(_none("object with the id", ident, lookups.every("ah:objectId")))
        return []
    matching = [holder for holder in things if not kinds or any(lookups.is_of_kind(holder.iri, kind) for kind in kinds)]
    if not matching:
        resolved.notes.append(
            f"There is no {' or '.join(kinds)} with the id {ident}. Give the kind with --param domain=KIND:"
            + _listed(things)
        )
    elif not kinds and len(matching) > 1:
        raise UsageError(f"Several things have the id {ident}. Choose one with --param domain=KIND:{_listed(matching)}")
    return matching


def _choose(domain: Parameter | None, by_name: dict[str, list[NameHolder]], resolved: ResolvedParameters) -> None:
    """Where things of several kinds have one name, takes the question's default kind, if the other names are of that
    kind too; otherwise raises UsageError. Names that mean things of one kind each combine, whatever the kinds are.
    """
    for name, holders in by_name.items():
        if domain is None or len(_spaces(holders)) < 2:
            continue
        others = set().union(*(_spaces(other_holders) for other, other_holders in by_name.items() if other != name))
        is_enough = domain.default in _spaces(holders) and all(other == domain.default for other in others)
        if is_enough and domain.default != "Table":
            resolved.params[domain.name] = [str(domain.default)]
            resolved.notes.append(
                f"{name}: the {domain.default} is used. Choose another with --param domain=KIND:{_listed(holders)}"
            )
            return
        raise UsageError(
            f"{name} is the name of several kinds of things. Choose one with --param {domain.name}=KIND:"
            + _listed(holders)
        )


def _spaces(holders: Iterable[NameHolder]) -> set[str]:
    """The kinds of things, of those that a name can mean alone; tables and views are one."""
    return {("Table" if holder.domain in _ONE_SPACE else holder.domain) for holder in holders if not _is_aside(holder)}


def _is_aside(holder: NameHolder) -> bool:
    return holder.domain in _ASIDE or holder.domain.endswith(" Policy")


def _listed(holders: Iterable[NameHolder]) -> str:
    lines = [
        f"\n  {visible(holder.thing)}" + (f", {visible(holder.name)}, from {holder.since}" if holder.name else "")
        + (f" until {holder.until}" if holder.until else "")
        for holder in holders
    ]  # fmt: skip
    more = [f"\n  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "".join([*lines[:_SHOWN], *more])


# --- names that changed -----------------------------------------------------------------------------------------------


def _renamed(lookups: Lookups, name: str, holders: list[NameHolder], params: ParameterValues) -> Iterator[str]:
    """Notes on objects that had the name and have another now, and on names that no object had at the time ``at``."""
    for at in values_of(params, "at"):
        if not any(_holds(holder, instant("at", at)) for holder in holders):
            yield f"No object was called {name} at {at}. There is:{_listed(holders)}"
    gone = {holder.iri: holder for holder in holders if holder.until is not None}
    for iri in {holder.iri for holder in holders if holder.until is None}:
        gone.pop(iri, None)
    lines = [
        f"{holder.thing} had the name {name} until {holder.until}, and is called {present.name} now."
        for iri, holder in gone.items()
        for present in lookups.names_of(iri)
        if present.until is None  # none of an object that was dropped, or whose name another one took
    ]
    lines += _dropped(lookups, name, holders, params)
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"The same is true of {len(lines) - _SHOWN} more objects."


def _dropped(lookups: Lookups, name: str, holders: list[NameHolder], params: ParameterValues) -> Iterator[str]:
    """A note if the object that had the name last was dropped, so that its former names do not count."""
    for account in sorted({holder.account for holder in holders}):
        of_account = [holder for holder in holders if holder.account == account]
        last, names = of_account[-1], lookups.names_of(of_account[-1].iri)
        former = dict.fromkeys(name_holder.name for name_holder in names[:-1])
        is_dropped = last.until is not None and names[-1] == last  # its last name, and no other object took it
        if is_dropped and former and not any(_has_at_last(holder, params) for holder in of_account):
            yield (
                f"{last.thing} had the name {name} until {last.until}, when it was dropped; what it did under former "
                f"names ({', '.join(former)}) is in the answer by object_id={last.ident}."
            )


def _has_at_last(holder: NameHolder, params: ParameterValues) -> bool:
    """Whether the object has the name at ``at``, before ``until``, or at the end of the record."""
    since, until = (instant("validFrom", time) if time else None for time in (holder.since, holder.until))
    ends = [instant("until", value) for value in values_of(params, "until")]
    if "at" in params or not ends:
        return until is None or any(_holds(holder, instant("at", at)) for at in values_of(params, "at"))
    return any(since is not None and since < end and (until is None or end <= until) for end in ends)


def _holds(holder: NameHolder, time: datetime) -> bool:
    has_begun = instant("validFrom", holder.since) <= time
    return has_begun and (holder.until is None or time < instant("validUntil", holder.until))
