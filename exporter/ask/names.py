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

    from exporter.ask.parameters import Given

NEAREST: Final = 3
"""How many of the nearest names a message lists."""
_MANY: Final = 5_000
"""Up to so many names are all compared, in some tenths of a second. Of more, only those with a similar start or end
are.
"""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """An object during a period in which it had a name: from ``since`` until ``until`` (None: it still has it), times
    in the form of the graph.

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
        """By the start, of one object the present name last. Times of the graph cannot be compared as texts, since
        they have fractions of any length.
        """
        begin, end = (datetime.fromisoformat(time) if time else _NEVER for time in (self.since, self.until))
        return begin, self.iri, end

    @property
    def thing(self) -> str:
        """``Table 66564``."""
        return f"{self.domain} {self.ident}" if self.ident else f"{self.domain} without an id"

    @property
    def account(self) -> str:
        """The part of its IRI that the IRIs of all objects of its account begin with."""
        return self.iri.rsplit("/", 2 if self.ident else 3)[0]


class Known:
    """Look-ups in one graph."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def has_names_to_match(self) -> bool:
        """False for a graph that an older version made: its names have no ``ah:matchName``."""
        return self._any("ah:matchName") or not self._any("ah:nameText")

    def turns(self, name: str) -> list[Turn]:
        """Every object that had the name, once for each period in which it had it, ordered by the start."""
        named = self._subjects("ah:matchName", Literal(match_name(name)))
        return sorted((turn for named_node in named for turn in self._turns(named_node)), key=lambda turn: turn.order)

    def names_of(self, iri: str) -> list[Turn]:
        """All names that an object had, ordered by when it got them."""
        names = self._objects(NamedNode(iri), "ah:hasName")
        turns = (turn for name in names if isinstance(name, NamedNode) for turn in self._turns(name))
        return sorted(turns, key=lambda turn: turn.order)

    def _turns(self, named: NamedNode) -> Iterator[Turn]:
        since, text = self._text(named, "ah:validFrom"), self._text(named, "ah:nameText")
        if since is None or text is None:
            return
        for thing in self._subjects("ah:hasName", named):
            domain, ident = self._text(thing, "ah:domain"), self._text(thing, "ah:objectId")
            yield Turn(since, thing.value, domain or "Object", ident, text, self._text(named, "ah:validUntil"))

    def location(self, url: str) -> Turn | None:
        """The location outside of Snowflake with this URL; None if the graph has none. It has no periods."""
        for thing in sorted(self._subjects("ah:locationUrl", Literal(url.strip('"'))), key=str):
            if not any(self._objects(thing, "ah:hasName")):
                return Turn("", thing.value, self._text(thing, "ah:domain") or "Object", None, "", None)
        return None

    def of_id(self, ident: str) -> list[Turn]:
        """The objects with the id, each once, under its latest name."""
        found = []
        for thing in self._subjects("ah:objectId", Literal(ident)):
            names = self.names_of(thing.value)
            domain = self._text(thing, "ah:domain") or "Object"
            found.append(names[-1] if names else Turn("", thing.value, domain, ident, "", None))
        return sorted(found, key=lambda turn: turn.domain)

    def is_of_kind(self, iri: str, kind: str) -> bool:
        """Whether an object is of the kind ``kind`` (in any spelling), by its domain or one of its classes."""
        thing = NamedNode(iri)
        classes = [one.value.rpartition("#")[2] for one in self._objects(thing, "rdf:type")]
        return _plain(kind) in {_plain(self._text(thing, "ah:domain") or ""), *map(_plain, classes)}

    def has_kind(self, kind: str) -> bool:
        """Whether the graph has any object of the kind."""
        if _plain(kind) in map(_plain, self.kinds()):
            return True
        every = {*DOMAIN_CLASSES.values(), *(name for names in KIND_CLASSES.values() for name in names)}
        classes = [name for name in every if _plain(name.partition(":")[2]) == _plain(kind)]
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
        named = self._subjects("ah:matchName", Literal(match_name(name)))
        return any(self._text(named_node, "ah:userName") is not None for named_node in named)

    def has_agent(self, name: str) -> bool:
        """Whether there is a software agent of that name."""
        wanted = match_name(name)
        return any(wanted == (text if '"' in text else text.upper()) for text in self._texts("ah:agentName"))

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
        return min((one.value for one in self._objects(subject, term)), default=None)

    def _texts(self, term: str) -> set[str]:
        quads = self._store.quads_for_pattern(None, NamedNode(full(term)), None)
        return {quad.object.value for quad in quads if isinstance(quad.object, Literal)}


def _plain(kind: str) -> str:
    """``External table``, ``EXTERNAL_TABLE`` and ``ExternalTable`` are one kind."""
    return kind.lower().replace(" ", "").replace("_", "")


def nearest(name: str, every: Iterable[str]) -> list[str]:
    """The names that are most similar to ``name``; names with the same last part come first."""
    wanted, by_match = match_name(name), {match_name(text): text for text in every}
    last = f".{wanted.rpartition('.')[2]}"
    same_end = sorted(text for text in by_match if text.endswith(last) and text != wanted)
    near = get_close_matches(wanted, _alike(wanted, by_match), n=NEAREST)
    if same_end and near and near[0] in same_end:
        same_end, near = near, same_end
    return [by_match[text] for text in dict.fromkeys([*same_end, *near])][:NEAREST]


def _alike(wanted: str, names: Collection[str]) -> list[str]:
    """All of the names if they are few. Of many, those next to the wanted one when sorted by beginning and by end."""
    if len(names) <= _MANY:
        return sorted(names)
    forward, backward = sorted(names), sorted(name[::-1] for name in names)
    beginning, end = bisect_left(forward, wanted), bisect_left(backward, wanted[::-1])
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
class Looked:
    """``given``: the parameters, with those that the look-up added; ``notes``: what the person has to know; ``things``:
    the IRIs of the objects that names and ids mean, at any time; ``location``: the location outside of Snowflake whose
    URL is given in the place of a name, alone.
    """

    given: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)
    things: set[str] = field(default_factory=set)
    location: Turn | None = None


def look_up(store: Store, parameters: Sequence[Parameter], given: Given) -> Looked:
    """Looks up the values of all parameters; raises UsageError where a name or id is ambiguous."""
    looked = Looked({name: values_of(given, name) for name in given})
    by_kind = {parameter.kind: parameter for parameter in parameters if parameter.name in given}
    known = Known(store)
    _look_up_kinds(known, by_kind, looked)
    things = looked.things = _look_up_objects(known, parameters, by_kind, looked)
    if "column" in by_kind:
        _look_up_columns(known, by_kind["column"], things, looked)
    if "tag" in by_kind:
        _look_up_tags(known, by_kind["tag"], looked)
    if "user" in by_kind:
        _look_up_texts(known, by_kind["user"], known.has_user, "ah:userName", looked)
    if "agent" in by_kind:
        _look_up_texts(known, by_kind["agent"], known.has_agent, "ah:agentName", looked)
    if "query" in by_kind:
        _look_up_texts(known, by_kind["query"], known.has_query, "ah:queryId", looked)
    return looked


def _look_up_texts(known: Known, parameter: Parameter, has: Callable[[str], bool], term: str, looked: Looked) -> None:
    for value in looked.given[parameter.name]:
        if not has(value):
            looked.notes.append(_none(parameter.kind, value, known.every(term)))
            if parameter.kind == "user" and any(PSEUDONYM.fullmatch(name) for name in known.every(term)):
                looked.notes.append(
                    "Users have pseudonyms in this graph (export --pseudonyms): ask by the pseudonym, which the key "
                    "makes from the name (docs/privacy.md)."
                )


def _look_up_columns(known: Known, parameter: Parameter, things: set[str], looked: Looked) -> None:
    """Looks up columns of the objects that are meant; without such objects there is nothing to add."""
    for value in looked.given[parameter.name] if things else ():
        if not known.has_column(value, things):
            looked.notes.append(_none("column", value, known.columns(things)).replace("the graph", "the object"))


def _look_up_tags(known: Known, parameter: Parameter, looked: Looked) -> None:
    for value in looked.given[parameter.name]:
        if not any(turn.domain == "Tag" for turn in known.turns(value)):
            looked.notes.append(_none("tag", value, known.every("ah:nameText")))


def _none(word: str, value: str, every: Iterable[str]) -> str:
    near = nearest(value, every)
    return f"There is no {word} {value} in the graph." + (f" The nearest: {', '.join(near)}." if near else "")


def _look_up_kinds(known: Known, by_kind: dict[str, Parameter], looked: Looked) -> None:
    for kind in looked.given[by_kind["domain"].name] if "domain" in by_kind else ():
        if not known.has_kind(kind):
            looked.notes.append(f"There is no object of the kind {kind} in the graph, but: {', '.join(known.kinds())}.")


# --- objects ----------------------------------------------------------------------------------------------------------


def _look_up_objects(
    known: Known, parameters: Sequence[Parameter], by_kind: dict[str, Parameter], looked: Looked
) -> set[str]:
    """The objects that names and ids mean, at any time."""
    domain = next((parameter for parameter in parameters if parameter.kind == "domain"), None)
    kinds = looked.given.get(domain.name, []) if domain else []
    idents = looked.given.get(by_kind["object id"].name, []) if "object id" in by_kind else []
    if "object" not in by_kind:
        default = [domain.default] if domain and domain.default else []
        return {turn.iri for ident in idents for turn in _of_id(known, ident, kinds or default, looked)}
    if not known.has_names_to_match():
        raise UsageError(
            "This graph holds no names to match, since an older version of exporter made it: export its rows again "
            "(exporter export … --replace), or ask by --param object_id=ID."
        )
    names = looked.given[by_kind["object"].name]
    by_name = {name: _of_name(known, name, kinds, idents, looked) for name in names}
    if not kinds and not idents:
        _choose(domain, by_name, looked)
    locations = [turn for found in by_name.values() for turn in found if not turn.since]
    if len(locations) == len(by_name) == 1:
        looked.location = locations[0]
    elif locations:
        looked.notes.append(LOCATION_ALONE)
    return {turn.iri for turns in by_name.values() for turn in turns}


def _of_name(known: Known, name: str, kinds: list[str], idents: list[str], looked: Looked) -> list[Turn]:
    location = known.location(name)
    turns = known.turns(name) or ([location] if location else [])
    if not turns:
        looked.notes.append(_none("object", name, known.every("ah:nameText")))
        return []
    found = [
        turn
        for turn in turns
        if (not kinds or any(known.is_of_kind(turn.iri, kind) for kind in kinds))
        and (not idents or turn.ident in idents)
    ]
    if found:
        accounts = {turn.account for turn in found}
        if len(accounts) > 1:
            looked.notes.append(
                f"{name} is a name in {len(accounts)} accounts: the answer has the objects with this name in each."
            )
        looked.notes += _renamed(known, name, found, looked.given) if found != [location] else ()
    else:
        sharper = " and ".join([*(f"domain={kind}" for kind in kinds), *(f"object_id={ident}" for ident in idents)])
        looked.notes.append(f"No object that was called {name} has {sharper}. There is:{_listed(turns)}")
    return found


def _of_id(known: Known, ident: str, kinds: list[str], looked: Looked) -> list[Turn]:
    things = known.of_id(ident)
    if not things:
        looked.notes.append(_none("object with the id", ident, known.every("ah:objectId")))
        return []
    turns = [turn for turn in things if not kinds or any(known.is_of_kind(turn.iri, kind) for kind in kinds)]
    if not turns:
        looked.notes.append(
            f"There is no {' or '.join(kinds)} with the id {ident}. Give the kind with --param domain=KIND:"
            + _listed(things)
        )
    elif not kinds and len(turns) > 1:
        raise UsageError(f"Several things have the id {ident}. Choose one with --param domain=KIND:{_listed(turns)}")
    return turns


def _choose(domain: Parameter | None, by_name: dict[str, list[Turn]], looked: Looked) -> None:
    """Where things of several kinds have one name, takes the question's default kind, if the other names are of that
    kind too; otherwise raises UsageError. Names that mean things of one kind each combine, whatever the kinds are.
    """
    for name, found in by_name.items():
        if domain is None or len(_spaces(found)) < 2:
            continue
        others = set().union(*(_spaces(turns) for other, turns in by_name.items() if other != name))
        is_enough = domain.default in _spaces(found) and all(other == domain.default for other in others)
        if is_enough and domain.default != "Table":
            looked.given[domain.name] = [str(domain.default)]
            looked.notes.append(
                f"{name}: the {domain.default} is used. Choose another with --param domain=KIND:{_listed(found)}"
            )
            return
        raise UsageError(
            f"{name} is the name of several kinds of things. Choose one with --param {domain.name}=KIND:"
            + _listed(found)
        )


def _spaces(turns: Iterable[Turn]) -> set[str]:
    """The kinds of things, of those that a name can mean alone; tables and views are one."""
    return {("Table" if turn.domain in _ONE_SPACE else turn.domain) for turn in turns if not _is_aside(turn)}


def _is_aside(turn: Turn) -> bool:
    return turn.domain in _ASIDE or turn.domain.endswith(" Policy")


def _listed(turns: Iterable[Turn]) -> str:
    lines = [
        f"\n  {visible(turn.thing)}" + (f", {visible(turn.name)}, from {turn.since}" if turn.name else "")
        + (f" until {turn.until}" if turn.until else "")
        for turn in turns
    ]  # fmt: skip
    more = [f"\n  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "".join([*lines[:_SHOWN], *more])


# --- names that changed -----------------------------------------------------------------------------------------------


def _renamed(known: Known, name: str, turns: list[Turn], given: Given) -> Iterator[str]:
    """Notes on objects that had the name and have another now, and on names that no object had at the time ``at``."""
    for at in values_of(given, "at"):
        if not any(_holds(turn, instant("at", at)) for turn in turns):
            yield f"No object was called {name} at {at}. There is:{_listed(turns)}"
    gone = {turn.iri: turn for turn in turns if turn.until is not None}
    for iri in {turn.iri for turn in turns if turn.until is None}:
        gone.pop(iri, None)
    lines = [
        f"{turn.thing} had the name {name} until {turn.until}, and is called {present.name} now."
        for iri, turn in gone.items()
        for present in known.names_of(iri)
        if present.until is None  # none of an object that was dropped, or whose name another one took
    ]
    lines += _dropped(known, name, turns, given)
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"The same is true of {len(lines) - _SHOWN} more objects."


def _dropped(known: Known, name: str, found: list[Turn], given: Given) -> Iterator[str]:
    """A note if the object that had the name last was dropped, so that its former names do not count."""
    for account in sorted({turn.account for turn in found}):
        turns = [turn for turn in found if turn.account == account]
        last, names = turns[-1], known.names_of(turns[-1].iri)
        former = dict.fromkeys(name.name for name in names[:-1])
        is_dropped = last.until is not None and names[-1] == last  # its last name, and nobody took it
        if is_dropped and former and not any(_has_at_last(turn, given) for turn in turns):
            yield (
                f"{last.thing} had the name {name} until {last.until}, when it was dropped; what it did under former "
                f"names ({', '.join(former)}) is in the answer by object_id={last.ident}."
            )


def _has_at_last(turn: Turn, given: Given) -> bool:
    """Whether the object has the name at ``at``, before ``until``, or at the end of the record."""
    since, until = (instant("validFrom", time) if time else None for time in (turn.since, turn.until))
    ends = [instant("until", value) for value in values_of(given, "until")]
    if "at" in given or not ends:
        return until is None or any(_holds(turn, instant("at", at)) for at in values_of(given, "at"))
    return any(since is not None and since < end and (until is None or end <= until) for end in ends)


def _holds(turn: Turn, time: datetime) -> bool:
    begins = instant("validFrom", turn.since) <= time
    return begins and (turn.until is None or time < instant("validUntil", turn.until))
