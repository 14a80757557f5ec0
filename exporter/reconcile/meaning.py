"""Which object of the graph a declared dataset is: by its name at the time of the declaration.

Names change, and a table that is created again (CREATE OR REPLACE, as dbt does it each day) is another object. So a
dataset is a *line* of objects: the one that had the name at that time, those that it took the place of under this name,
and those that took its place. A RENAME or SWAP ends no line, since the objects go on under other names.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from exporter.ask.names import Lookups
from exporter.ask.questions import select
from exporter.errors import UsageError
from exporter.input.times import parse_time
from exporter.model.identifiers import match_name, parts_of
from exporter.openlineage.helpers import is_named
from exporter.openlineage.inputs_and_outputs import DATASET_KINDS
from exporter.openlineage.naming import external_dataset
from exporter.openlineage.settings import HELPERS
from exporter.reconcile.declared import SNOWFLAKE, Dataset, dataset
from exporter.settings import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Store

    from exporter.ask.names import NameHolder

_NAMED: Final = ("table", "view", "stream", "stage", "object", "location")
_SHARED_NAMES: Final = ("table", "view", "object")
"""Kinds of which no two objects have one name at one time; what has it is preferred to a stream or stage."""
_PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
_ACCOUNTS: Final = f"""{_PREFIXES}SELECT ?account ?label ?locator ?export WHERE {{
  ?account a ah:Account ; rdfs:label ?label .
  OPTIONAL {{ ?account ah:accountLocator ?locator }}
  OPTIONAL {{ ?export a ah:Export ; ah:account ?account }}
}}"""
_LOCATIONS: Final = f"""{_PREFIXES}SELECT DISTINCT ?object ?url ?label ?domain WHERE {{
  ?object ah:locationUrl ?url .
  OPTIONAL {{ ?object rdfs:label ?label }}
  OPTIONAL {{ ?object ah:domain ?domain }}
}}"""


class Line(NamedTuple):
    """The objects that a dataset is. ``root``: the IRI of the first of them, which no other line has; ``iri``: of the
    one that is meant at the time; ``name``, ``domain``: of that, now; ``members``: the IRIs of all.
    """

    root: str
    iri: str
    name: str
    domain: str
    members: frozenset[str]

    @property
    def is_view(self) -> bool:
        """Whether it has no rows of its own."""
        return "VIEW" in self.domain.upper()


class Unknown(NamedTuple):
    """A dataset that the record cannot be asked for. ``reason``: a word for programs; ``why``: for people."""

    reason: str
    why: str


Meaning = Line | Unknown


@dataclass(frozen=True)
class _Period:
    turn: NameHolder
    since: int
    until: int | None


class Meanings:
    """Looks up the datasets of declarations in one graph. ``namespaces``: those that are said to be the account of the
    graph.
    """

    def __init__(self, store: Store, namespaces: Iterable[str] = ()) -> None:
        self._known = Lookups(store)
        spellings = {spelling for one in namespaces for spelling in (one, dataset(one, "any", "--namespace").namespace)}
        self._namespaces = frozenset(one.rstrip("/").lower() for one in spellings)
        self._accounts, self._locators = _accounts(store)
        alone = [*self._accounts] if len(self._accounts) == 1 else []
        self.home = f"{SNOWFLAKE}{alone[0]}" if alone else ""
        """The namespace of what dbt runs in Snowflake: that of the only account of the graph, else empty."""
        self._locations = _locations(store)
        self._periods: dict[str, Mapping[str, list[_Period]]] = {}
        self._meanings: dict[tuple[Dataset, int | None], Meaning] = {}

    def of(self, named: Dataset, time: int | None) -> Meaning:
        """What the dataset is at a time, in microseconds since 1970 (UTC); now, if it is None."""
        key = named, time
        if key not in self._meanings:
            self._meanings[key] = self._of(named, time)
        return self._meanings[key]

    def _of(self, named: Dataset, time: int | None) -> Meaning:
        is_of_graph = named.namespace.rstrip("/").lower() in self._namespaces
        if not named.is_of_snowflake and not is_of_graph:
            return self._locations.get(named) or Unknown(
                "other-platform", f"{named} is outside of Snowflake, whose rows do not show what it holds"
            )
        name = match_name(named.name)
        if len(parts_of(name)) != 3:
            return Unknown("no-object-name", f"{name} is not DATABASE.SCHEMA.NAME, so it names no object")
        by_place = self._in_places(name)
        places = [*by_place] if is_of_graph or not named.namespace else self._places(named.namespace, by_place)
        if isinstance(places, Unknown):
            return places
        if not places:
            return Unknown("no-row", f"{named.name} is in no row of the record")
        if len(places) > 1:
            return Unknown("ambiguous", f"{named.name} is a name in {len(places)} accounts of the record")
        return self._line(name, by_place[places[0]], time)

    def _places(self, namespace: str, by_place: Mapping[str, list[_Period]]) -> list[str] | Unknown:
        """Of the places that have a name, those of the account that a namespace names."""
        account = namespace[len(SNOWFLAKE) :]
        wanted = self._accounts.get(account) or self._locators.get(account.partition(".")[0].upper())
        if wanted is None:
            there = ", ".join(sorted(self._accounts)) or "an account without a name"
            return Unknown(
                "other-account",
                f"the record has no account {account}, but {there}; --namespace {namespace} says that it is the same",
            )
        return [wanted] if wanted in by_place else []

    def _in_places(self, name: str) -> Mapping[str, list[_Period]]:
        """The periods in which objects had a name, by the part of IRIs that stands for their account."""
        if name not in self._periods:
            by_account = defaultdict[str, list[_Period]](list)
            for turn in self._known.holders(name):
                if _kind(turn) in DATASET_KINDS and _kind(turn) in _NAMED:
                    by_account[turn.account].append(_period(turn))
            self._periods[name] = {place: _preferred(periods) for place, periods in by_account.items()}
        return self._periods[name]

    def _line(self, name: str, periods: list[_Period], time: int | None) -> Meaning:
        holding = [period for period in periods if _holds(period, time)]
        meant = {period.turn.iri for period in holding}
        if len(meant) > 1:
            things = ", ".join(sorted(period.turn.thing for period in holding))
            return Unknown("ambiguous", f"{name} is the name of several objects at that time: {things}")
        later = [period for period in periods if time is not None and period.since > time]
        # Nobody has the name: it is that of the object that got it next, else of the one that had it last.
        chosen = holding[-1] if holding else later[0] if later else periods[-1]
        place = periods.index(chosen)
        begin = end = place
        while begin > 0 and self._follows(periods[begin - 1], periods[begin]):
            begin -= 1
        while end + 1 < len(periods) and self._follows(periods[end], periods[end + 1]):
            end += 1
        turns = [period.turn for period in periods[begin : end + 1]]
        now = self._known.names_of(chosen.turn.iri)[-1]
        members = frozenset(turn.iri for turn in turns)
        return Line(turns[0].iri, chosen.turn.iri, now.name, now.domain, members)

    def _follows(self, period: _Period, other: _Period) -> bool:
        """Whether the second object took the place of the first: the first ended with the name, and the second began
        with it, but for the names of a helper.
        """
        first, second = self._known.names_of(period.turn.iri), self._known.names_of(other.turn.iri)
        if period.turn.iri == other.turn.iri:
            return True
        before = second[: second.index(other.turn)]
        return first[-1] == period.turn and all(is_named(turn.name, HELPERS) for turn in before)


def _accounts(store: Store) -> tuple[dict[str, str], dict[str, str]]:
    """The place of each account in the graph, by the account's name and by its locator."""
    names, locators = dict[str, str](), dict[str, str]()
    rows = select(store, _ACCOUNTS, "the accounts").rows
    base = next((f"{export.rsplit('/', 2)[0]}/" for *_, export in rows if export), SNOWFLAKE)
    for account, _, locator, export in rows:
        name = unquote(str(account)).removeprefix(SNOWFLAKE).removesuffix("/account")
        # As in exporter/graph/iri.py: the exported account is below the base, others beside or below it.
        other = str(account).removesuffix("/account") if base.startswith(SNOWFLAKE) else f"{base}account/{name}"
        place = base[:-1] if export else other
        names[_spelled(name)] = place
        if locator:
            locators[locator.upper()] = place
    return names, locators


def _spelled(account: str) -> str:
    try:
        return spelled(account)
    except UsageError:
        return account


def _locations(store: Store) -> dict[Dataset, Line]:
    """The places outside of Snowflake that rows show, by their OpenLineage names."""
    lines = dict[Dataset, Line]()
    for iri, url, label, domain in select(store, _LOCATIONS, "the locations").rows:
        namespace, name = external_dataset(str(url), "")
        line = Line(str(iri), str(iri), label or str(url), domain or "Location", frozenset((str(iri),)))
        if namespace:
            lines.setdefault(Dataset(namespace, name), line)
    return lines


def _kind(turn: NameHolder) -> str:
    """``table`` of ``snowflake://A/table/5``."""
    return turn.iri[len(turn.account) + 1 :].partition("/")[0]


def _period(turn: NameHolder) -> _Period:
    return _Period(turn, parse_time(turn.since) or 0, parse_time(turn.until) if turn.until else None)


def _preferred(periods: list[_Period]) -> list[_Period]:
    """Of the objects with one name, tables and views before streams and stages, and those with an id before those
    without one, which are the same objects in rows that do not give it.
    """
    for some in (
        [period for period in periods if _kind(period.turn) in _SHARED_NAMES and period.turn.ident],
        [period for period in periods if period.turn.ident],
        [period for period in periods if _kind(period.turn) in _SHARED_NAMES],
    ):
        if some:
            return some
    return periods


def _holds(period: _Period, time: int | None) -> bool:
    if time is None:
        return period.until is None
    return period.since <= time and (period.until is None or time < period.until)
