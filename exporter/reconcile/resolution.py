"""Which object of the graph a declared dataset is: by its name at the time of the declaration.

Names change, and a table that is created again (CREATE OR REPLACE, as dbt does it each day) is another object. So a
dataset is a *line* of objects: the one that had the name at that time, those that it took the place of under this name,
and those that took its place. A RENAME or SWAP ends no line, since the objects go on under other names.

A table that is built under another name and takes the name by a SWAP or RENAME takes the place of the one that had it,
if that one was only set aside: nothing read or filled it from then on, and it was dropped; or it stays where a table
was made, and swapped with it. No table takes the place of another by a RENAME or SWAP of its schema or database, which
moves all that is in it. One that goes on to be used under its new name is the dataset of that name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from exporter.ask.canonical_names import NAMED, CanonicalNames, since
from exporter.ask.container_history import RENAME, SWAP, container_histories, containers_of
from exporter.ask.lookups import SAME_NAME, Lookups, NameHolder
from exporter.ask.questions import select
from exporter.ask.triples import PROLOGUE
from exporter.ask.without_id import change_in_words, renamings
from exporter.input.times import parse_time
from exporter.model.account_identifier import normalized_if_account
from exporter.model.identifiers import match_name, parts_of
from exporter.model.other_accounts import AT, is_unnamed
from exporter.openlineage.naming import external_dataset
from exporter.reconcile.declared import SNOWFLAKE, DeclaredDataset, dataset

if TYPE_CHECKING:
    from pyoxigraph import Store

_NEVER: Final = 1 << 62
"""A time that does not come."""
_ACCOUNTS: Final = f"""{PROLOGUE}SELECT ?account ?label ?locator ?export WHERE {{
  ?account a ah:Account ; rdfs:label ?label .
  OPTIONAL {{ ?account ah:accountLocator ?locator }}
  OPTIONAL {{ ?export a ah:Export ; ah:account ?account }}
}}"""
_LOCATIONS: Final = f"""{PROLOGUE}SELECT DISTINCT ?object ?url ?label ?domain WHERE {{
  ?object ah:locationUrl ?url .
  OPTIONAL {{ ?object rdfs:label ?label }}
  OPTIONAL {{ ?object ah:domain ?domain }}
}}"""


class ObjectLine(NamedTuple):
    """The objects that a dataset is. ``root``: the IRI of the first of them, which no other line has; ``iri``: of the
    object that has the name at the time; ``name``, ``domain``: its present ones, or the last before it was set aside;
    ``members``: the IRIs of all, also of those that rows give without an id; ``doubtful``: of what rows give without an
    id, and may be one of these or not.
    """

    root: str
    iri: str
    name: str
    domain: str
    members: frozenset[str]
    doubtful: frozenset[str] = frozenset()

    @property
    def is_view(self) -> bool:
        """Whether it has no rows of its own."""
        return "VIEW" in self.domain.upper()


class Move(NamedTuple):
    """A RENAME or SWAP of a schema or database, or of an object by its name alone. ``time``: in microseconds since 1970
    (UTC); ``text``: for people.
    """

    time: int
    text: str


class Unresolved(NamedTuple):
    """A dataset that is no object of the record, or it is not known which one. ``reason``: a word for programs;
    ``why``: a sentence for people; ``candidates``: the IRIs of the objects that it may be.
    """

    reason: str
    why: str
    candidates: frozenset[str] = frozenset()


Resolution = ObjectLine | Unresolved


class Resolver:
    """Looks up the datasets of declarations in one graph. ``namespaces``: those that are said to be the account of the
    graph.
    """

    def __init__(self, store: Store, namespaces: Collection[str] = ()) -> None:
        self._lookups = Lookups(store)
        canonical = [dataset(namespace, "any", "--namespace").namespace for namespace in namespaces]
        self._namespaces = {namespace.rstrip("/").lower() for namespace in (*namespaces, *canonical)}
        self._accounts, self._locators = _accounts(store)
        self.default_namespace = f"{SNOWFLAKE}{next(iter(self._accounts))}" if len(self._accounts) == 1 else ""
        """The namespace of what dbt runs in Snowflake: that of the only account of the graph, else empty."""
        self._locations = _locations(store)
        self._canonical_names = CanonicalNames(self._lookups)
        self._resolutions: dict[tuple[DeclaredDataset, int | None], Resolution] = {}
        self._moves_of_lines = dict[str, list[Move]]()
        self._named = defaultdict[str, set[tuple[str, int | None]]](set)
        """The root of a line -> the declared names of its objects, each with the time for which it is declared."""

    def resolve(self, declared: DeclaredDataset, time: int | None) -> Resolution:
        """What the dataset is at a time, in microseconds since 1970 (UTC); now, if it is None."""
        key = declared, time
        if key not in self._resolutions:
            resolution = self._resolutions[key] = self._resolve(declared, time)
            if isinstance(resolution, ObjectLine):
                self._named[resolution.root].add((match_name(declared.name), time))
        return self._resolutions[key]

    def _resolve(self, declared: DeclaredDataset, time: int | None) -> Resolution:
        is_of_graph = declared.namespace.rstrip("/").lower() in self._namespaces
        if not declared.is_of_snowflake and not is_of_graph:
            return self._locations.get(declared) or Unresolved(
                "other-platform", f"{declared} is outside of Snowflake, whose rows do not show what it holds"
            )
        name = match_name(declared.name)
        if len(parts_of(name)) != 3:
            return Unresolved("no-object-name", f"{name} is not DATABASE.SCHEMA.NAME, so it names no object")
        by_place = self._canonical_names.by_account(name)
        is_any = is_of_graph or not declared.namespace
        places = _own_first(by_place) if is_any else self._places(declared.namespace, by_place)
        if isinstance(places, Unresolved):
            return places
        if not places:
            return Unresolved("no-row", f"{declared.name} is in no row of the record")
        if len(places) > 1:
            several = frozenset(holder.iri for place in places for holder in by_place[place])
            return Unresolved(
                "ambiguous", f"{declared.name} is a name in {len(places)} accounts of the record", several
            )
        return self._line(name, by_place[places[0]], time)

    def _places(self, namespace: str, by_place: Mapping[str, list[NameHolder]]) -> list[str] | Unresolved:
        """Of the places that have a name, those of the account that a namespace names. That of another account, whose
        objects rows name, is as events have it.
        """
        account = namespace[len(SNOWFLAKE) :]
        of_other = [place for place in by_place if self._other_account(place).upper() == account.upper()]
        if of_other:
            return of_other
        account_place = self._accounts.get(account) or self._locators.get(account.partition(".")[0].upper())
        if account_place is None:
            known_accounts = ", ".join(sorted(self._accounts)) or "an account without a name"
            return Unresolved(
                "other-account",
                f"the record has no account {account}, but {known_accounts}; --namespace {namespace} says that it is "
                "the same",
            )
        return _own_first([place for place in by_place if place.partition(AT)[0] == account_place])

    def _other_account(self, place: str) -> str:
        """``ORG-PROV`` of ``snowflake://ORG-ACCOUNT@PROV``; empty for a place of an account of the graph."""
        own, _, other = place.partition(AT)
        name = next((name for name, known in self._accounts.items() if known == own), "")
        if not other or not name:
            return ""
        return f"{name}{AT}{other}" if is_unnamed(other) else f"{name.partition('-')[0]}-{unquote(other)}"

    def _line(self, name: str, holders: list[NameHolder], time: int | None) -> Resolution:
        """The objects in whose place the one came that had the name at a time. ``holders``: in the order of time."""
        in_force = [holder for holder in holders if _holds(holder, time)]
        in_force = [
            holder
            for holder in in_force
            if not any(self._gave_way(holder, other) or self._is_succeeded(holder, other) for other in in_force)
        ]
        several = frozenset(holder.iri for holder in in_force)
        if len(several) > 1:
            things = ", ".join(sorted(holder.thing for holder in in_force))
            return Unresolved("ambiguous", f"{name} is the name of several objects at that time: {things}", several)
        later = [holder for holder in holders if time is not None and since(holder) > time]
        # Nobody has the name: it is that of the object that got it next, else of the one that had it last.
        meant = in_force[-1] if in_force else later[0] if later else holders[-1]
        home = self._canonical_names.of(meant.iri)
        at_home = self._successive(self._canonical_names.by_account(match_name(home.name)).get(home.account, []), home)
        members = at_home if len(at_home) > 1 else self._successive(holders, meant)
        same, doubtful = self._without_id({name, match_name(home.name)}, frozenset(members))
        return ObjectLine(members[0], meant.iri, home.name, home.domain, same.union(members), doubtful)

    def line_of(self, iri: str) -> ObjectLine | None:
        """The line of an object that rows name with an id, or without it if of one line alone; None for others."""
        names = self._lookups.names_of(iri)
        if names and not names[-1].ident:
            others = {thing: self.line_of(thing) for thing in self._lookups.same_names(iri) if thing != iri}
            lines = {line.root: line for line in others.values() if line is not None and iri in line.members}
            return next(iter(lines.values())) if len(lines) == 1 else None
        holders = (
            self._canonical_names.by_account(match_name(names[-1].name)).get(names[-1].account, []) if names else []
        )
        if not names or not names[-1].ident or names[-1] not in holders:
            return None
        resolution = self._line(match_name(names[-1].name), [names[-1]], None)
        return resolution if isinstance(resolution, ObjectLine) else None

    # --- what was renamed or swapped around it ------------------------------------------------------------------------

    @cached_property
    def _moves(self) -> Mapping[tuple[str, str], list[Move]]:
        """The RENAMEs and SWAPs of which rows do not say which objects they are about, by account and name."""
        moves = defaultdict[tuple[str, str], list[Move]](list)
        for account, places in container_histories(self._lookups).items():
            for statement in places.statements:
                if statement.operation in {RENAME, SWAP}:
                    row = {"swapped": "" if statement.operation == RENAME else statement.other, "time": statement.at}
                    text = change_in_words({**row, "query_id": statement.query_id}, statement.name, statement.other)
                    for name in statement.names:
                        moves[account, match_name(name)].append(Move(parse_time(statement.at) or 0, text))
        for renaming in renamings(self._lookups):
            if renaming.kind in NAMED:
                for key in renaming.ends:
                    moves[key].append(Move(parse_time(renaming.time.isoformat()) or 0, renaming.sentences[0]))
        return moves

    def moves(self, line: ObjectLine) -> list[Move]:
        """The RENAMEs and SWAPs after which the names of a line may be of other objects than rows of before or after
        show, in the order of time.
        """
        if line.root not in self._moves_of_lines:
            self._moves_of_lines[line.root] = list(self._moves_of_line(line)) if self._moves else []
        return self._moves_of_lines[line.root]

    def _moves_of_line(self, line: ObjectLine) -> Iterator[Move]:
        holders = [holder for member in line.members for holder in self._lookups.names_of(member)]
        named = self._named[line.root]
        is_shown = len(line.members) == 1 and all(self._is_shown(holders, name, time) for name, time in named)
        if is_shown or not holders:
            return
        keys = {holder.key for holder in holders} | {(holder.account, name) for holder in holders for name, _ in named}
        # What has no id is known by its name alone, so what was done before its first row counts, too.
        begin = min(since(holder) if holder.ident else 0 for holder in holders)
        last = max(parse_time(holder.seen or holder.since) or 0 for holder in holders)
        end = max(last, *(_NEVER if time is None else time for _, time in named))
        yield from (move for move in self._moves_of(keys) if begin < move.time <= end)

    def _is_shown(self, holders: Iterable[NameHolder], name: str, time: int | None) -> bool:
        """Whether rows show that an object with an id had a name at a time, or so that no move is between."""
        return any(
            not self._moves_between(holder.key, parse_time(shown) or 0, time)
            for holder in holders
            if holder.ident and match_name(holder.name) == name
            for shown in (holder.since, holder.seen)
            if shown
        )

    def is_meant(self, line: ObjectLine | None, things: Iterable[str], time: int) -> bool:
        """Whether what rows of a query at a time say of these objects of a declared line is about what is declared:
        there are no such moves, or one of the objects had a declared name then, and none is between.
        """
        return (
            line is None
            or not self.moves(line)
            or any(
                name == key[1] and not self._moves_between(key, time, at)
                for thing in things
                for holder in self._lookups.names_of(thing)
                if _holds(holder, time)
                for key in [holder.key]
                for name, at in self._named[line.root]
            )
        )

    def _moves_between(self, key: tuple[str, str], time: int, other: int | None) -> bool:
        """Whether there is a RENAME or SWAP of a name, or around it, between two times; None: now."""
        begin, end = sorted((time, _NEVER if other is None else other))
        return any(begin < move.time <= end for move in self._moves_of([key]))

    def _moves_of(self, keys: Iterable[tuple[str, str]]) -> list[Move]:
        """The RENAMEs and SWAPs of these names, and of the schemas and databases that they are in."""
        places = {(account, place) for account, name in keys for place in (name, *containers_of(name))}
        return sorted({move for place in places for move in self._moves.get(place, ())})

    def name_at(self, iri: str, time: int) -> str | None:
        """The name of an object at a time, in microseconds since 1970 (UTC); None where no row gives it."""
        return next((holder.name for holder in self._lookups.names_of(iri) if _holds(holder, time)), None)

    def _successive(self, holders: list[NameHolder], meant: NameHolder) -> list[str]:
        """The objects that took each other's place under a name, with the one that is meant, in the order of time."""
        if meant not in holders:
            return []
        begin = end = holders.index(meant)
        while begin > 0 and self._follows(holders[begin - 1], holders[begin]):
            begin -= 1
        while end + 1 < len(holders) and self._follows(holders[end], holders[end + 1]):
            end += 1
        return list(dict.fromkeys(holder.iri for holder in holders[begin : end + 1]))

    def _without_id(self, called: set[str], members: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """What rows give without an id under a name of the members: what has one of the names that the line is called
        by and can be nothing else, and the rest.
        """
        nameless = {iri for member in members for iri in self._lookups.subjects(SAME_NAME, member)} - members
        same = frozenset(
            iri
            for iri in nameless
            if members.issuperset(self._lookups.objects(iri, SAME_NAME))
            and {match_name(holder.name) for holder in self._lookups.names_of(iri)} <= called
        )
        return same, frozenset(nameless - same)

    def _follows(self, holder: NameHolder, other: NameHolder) -> bool:
        """Whether the second object took the place of the first: the first was last in use under the name, and the
        second began with it, but for the names of a helper, or was built while the first had it.
        """
        if holder.iri == other.iri:
            return True
        is_next = not self._gave_way(holder, other) and self._canonical_names.is_newer(holder, other)
        return is_next and self._canonical_names.of(holder.iri) == holder

    def _is_succeeded(self, holder: NameHolder, other: NameHolder) -> bool:
        """Whether no row shows the first object under the name since the second one has it, and that took its place: a
        table that is made anew each night by rows that do not say so.
        """
        last = parse_time(holder.seen or holder.since) or 0
        return holder.iri != other.iri and last < since(other) and self._follows(holder, other)

    def _gave_way(self, holder: NameHolder, other: NameHolder) -> bool:
        """Whether a RENAME or SWAP around the name was between the last row that shows the first object with it and the
        first one that shows the second: the first went on under another name, though no row says so.
        """
        last, first = parse_time(holder.seen or holder.since) or 0, since(other)
        return holder.iri != other.iri and last < first and self._moves_between(holder.key, last, first)


def _locations(store: Store) -> dict[DeclaredDataset, ObjectLine]:
    """The places outside of Snowflake that rows show, by their OpenLineage names."""
    lines = dict[DeclaredDataset, ObjectLine]()
    for iri, url, label, domain in select(store, _LOCATIONS, "the locations").rows:
        namespace, name = external_dataset(str(url), "")
        line = ObjectLine(str(iri), str(iri), label or str(url), domain or "Location", frozenset((str(iri),)))
        if namespace:
            lines.setdefault(DeclaredDataset(namespace, name), line)
    return lines


def _own_first(places: Iterable[str]) -> list[str]:
    """The places of accounts of the graph; if none has the name, those of other accounts, whose objects rows name."""
    all_places = list(places)
    return [place for place in all_places if AT not in place] or all_places


def _holds(holder: NameHolder, time: int | None) -> bool:
    """Whether the object has the name at a time; now, if it is None."""
    until = parse_time(holder.until) if holder.until else None
    return until is None if time is None else since(holder) <= time and (until is None or time < until)


def _accounts(store: Store) -> tuple[dict[str, str], dict[str, str]]:
    """The place of each account in the graph, by the account's name and by its locator."""
    names, locators = dict[str, str](), dict[str, str]()
    rows = select(store, _ACCOUNTS, "the accounts").rows
    base = next((f"{export.rsplit('/', 2)[0]}/" for *_, export in rows if export), SNOWFLAKE)
    for account, _, locator, export in rows:
        name = unquote(str(account)).removeprefix(SNOWFLAKE).removesuffix("/account")
        # As in exporter/graph/iri.py: the exported account is below the base, others beside or below it.
        beside_base = str(account).removesuffix("/account") if base.startswith(SNOWFLAKE) else f"{base}account/{name}"
        place = base[:-1] if export else beside_base
        names[normalized_if_account(name)] = place
        if locator:
            locators[locator.upper()] = place
    return names, locators
