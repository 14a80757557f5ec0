"""Look-ups of the objects in one graph: which had a name or an id, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from exporter.ask.triples import LATE, MOMENT, Triples, in_utc
from exporter.graph.terms import DOMAIN_CLASSES, KIND_CLASSES
from exporter.model.effects import CREATES
from exporter.model.identifiers import match_name, unquoted
from exporter.model.other_accounts import AT, account_in, is_unnamed

if TYPE_CHECKING:
    from pyoxigraph import Store

SAME_NAME: Final = "ah:sameNameAs"
TABLE_STAGE: Final = "Table Stage"
"""The kind of the stage that each table has, ``@%T``."""


@dataclass(frozen=True)
class NameHolder:
    """An object and a period in which it had a name: from ``since`` until ``until`` (None: it still has it), times in
    the form of the graph.

    ``iri``: the object; ``domain``: its kind; ``ident``: Snowflake's id, None where no row gives it; ``seen``: when the
    last query started that names it so, None where none does.
    """

    since: str
    iri: str
    domain: str
    ident: str | None
    name: str
    until: str | None
    seen: str | None = None

    @property
    def order(self) -> tuple[datetime, str, datetime]:
        """The sort key: by the start, of one object the present name last. Times of the graph cannot be compared as
        texts, since they have fractions of any length.
        """
        start, end = (datetime.fromisoformat(time) if time else LATE for time in (self.since, self.until))
        return start, self.iri, end

    @property
    def thing(self) -> str:
        """``Table 66564``."""
        return f"{self.domain} {self.ident}" if self.ident else f"{self.domain} without an id"

    @property
    def row_account(self) -> str:
        """The part of its IRI that the IRIs of all objects in the rows of one account begin with."""
        return account_part(self.iri, has_id=self.ident is not None)

    @property
    def account(self) -> str:
        """The account that the object is of: that of its rows; and the account behind it, for one that rows of another
        account name.
        """
        return f"{self.row_account}{account_in(self.iri.rpartition('/')[2])}"

    @property
    def key(self) -> tuple[str, str]:
        """The account and the name as it is compared: what a name means in a graph of several accounts."""
        return self.account, match_name(self.name)

    def holds(self, time: datetime) -> bool:
        """Whether the object had the name at a time."""
        has_begun = datetime.fromisoformat(self.since) <= time
        return has_begun and (self.until is None or time < datetime.fromisoformat(self.until))


def lasting(names: Sequence[NameHolder]) -> list[NameHolder]:
    """The names that an object had for a time; all of them, if there is none: two RENAMEs of one moment give a name
    that nothing can have been called by.
    """
    return [name for name in names if name.until != name.since] or [*names]


class Lookups(Triples):
    """Look-ups of objects: their names at any time, ids, accounts, kinds and columns."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._of_name: dict[str, list[NameHolder]] = {}
        self._of_thing: dict[str, list[NameHolder]] = {}

    def label(self, thing: str) -> str:
        """The present or last name of an object; its IRI if it has none."""
        return self.text(thing, "rdfs:label") or thing

    def accounts(self) -> list[str]:
        """The names of the accounts of which the graph has rows, in order; not of those that rows only name: owners of
        objects, and grantees.
        """
        return sorted(self.label(account) for account in self.of_class("ah:Account") if self._has_rows(account))

    def _has_rows(self, account: str) -> bool:
        """Whether a query is of the account, or nothing at all: reads by day do not say it."""
        is_named = False
        for user in self.subjects("ah:account", account):
            is_named = True
            if self.text(user, "ah:domain") is None and self.text(user, "ah:exporterVersion") is None:
                return True
        return not is_named

    def users(self, name: str) -> Iterator[str]:
        """The users of a name as a parameter has it: in any letter case, or in quotes as Snowflake stores it."""
        if name.startswith('"'):
            yield from self.with_text("ah:userName", name.removeprefix('"').removesuffix('"').replace('""', '"'))
            return
        for node in self.with_text("ah:matchName", match_name(name)):
            if any(self.objects(node, "ah:userName")):
                yield node

    def account_of(self, thing: str) -> str:
        """The name of the account of an object."""
        place = account_part(thing, has_id=self.text(thing, "ah:objectId") is not None)
        if place.startswith("snowflake://") or place.rpartition("/")[0].endswith("/account"):
            return unquote(place.rpartition("/")[2])
        exported = (account for export in self.of_class("ah:Export") for account in self.objects(export, "ah:account"))
        return next(map(self.label, exported), place)

    def of_account(self, thing: str) -> str:
        """`` of the account ACME-PROV``, `` of a provider's account``: where the name or id means several objects."""
        other = account_in(thing.rpartition("/")[2]).removeprefix(AT)
        if is_unnamed(other):
            return " of a provider's account"
        return f" of the account {unquote(other) or self.account_of(thing)}"

    def owner_of(self, thing: str) -> str:
        """The account that an object is of, whichever account's rows name it: they give another one without its
        organization, which is then taken to be their own.
        """
        own, other = self.account_of(thing), account_in(thing.rpartition("/")[2]).removeprefix(AT)
        if not other or is_unnamed(other):
            return f"{own.replace('_', '-')}{other}"
        organization, name = own.partition("-")[0], unquote(other).replace("_", "-")
        return name if name.startswith(f"{organization}-") else f"{organization}-{name}"

    @staticmethod
    def is_of_other(thing: str) -> bool:
        """Whether an object is of another account than that of the rows that name it."""
        return bool(account_in(thing.rpartition("/")[2]))

    # --- objects ------------------------------------------------------------------------------------------------------

    def holders(self, name: str) -> list[NameHolder]:
        """Every object that had the name, once for each period in which it had it, ordered by the start."""
        matched = match_name(name)
        if matched not in self._of_name:
            self._of_name[matched] = self._in_order(self.with_text("ah:matchName", matched))
        return [*self._of_name[matched]]

    def meant(self, name: str) -> list[NameHolder]:
        """What a name in a question means: every object that had it. The stages of users go by the rule for users: a
        name without quotes means those of all users of that name, in any letter case.
        """
        stages = () if name.startswith('"') else self._stages_of_users.get(match_name(name), ())
        stage_holders = [
            holder for stage in stages for holder in self.names_of(stage) if holder.key[1] != match_name(name)
        ]
        return [*self.holders(name), *sorted(stage_holders, key=lambda holder: holder.order)]

    @cached_property
    def _stages_of_users(self) -> dict[str, list[str]]:
        """The stages of users by their users' names, as names of users are compared."""
        stages = defaultdict[str, list[str]](list)
        for stage in self.of_class("ah:UserStage"):
            stages[match_name(unquoted(self.label(stage)))].append(stage)
        return stages

    def names_of(self, iri: str) -> list[NameHolder]:
        """All names that an object had, ordered by when it got them."""
        if iri not in self._of_thing:
            self._of_thing[iri] = self._in_order(self.objects(iri, "ah:hasName"))
        return [*self._of_thing[iri]]

    def name_at(self, thing: str, time: str) -> str:
        """What an object was called at a time of the graph; what has no name then, by its present or last one."""
        then = (
            holder.name
            for holder in reversed(self.names_of(thing))
            if time and holder.holds(datetime.fromisoformat(time))
        )
        return next(then, None) or self.label(thing)

    def was_dropped(self, thing: str, at: datetime) -> bool:
        """Whether the latest that a row says of an object by then is its DROP, or that of its schema or database."""
        return self.dropped_at(thing, at) is not None

    def dropped_at(self, thing: str, by: datetime) -> datetime | None:
        """When that was (:meth:`was_dropped`); None if it is not the latest."""
        versions = list(self.subjects("prov:specializationOf", thing))
        generated, dropped = (
            {datetime.fromisoformat(time) for version in versions for time in self.objects(version, term)}
            for term in ("prov:generatedAtTime", "prov:invalidatedAtTime")
        )
        last = max((time for time in dropped if time <= by), default=None)
        return None if last is None or any(last < time <= by for time in generated) else last

    def replacements(self, thing: str, by: datetime | None, operation: str = "REPLACE") -> list[datetime]:
        """The times at which REPLACE recreated an object under its own id or name, up to ``by``; all if it is None.
        ``operation``: CREATE gives those of CREATEs, also of the first one, and of one IF NOT EXISTS.
        """
        changes = (
            change
            for change in self.subjects("ah:changedObject", thing)
            if self.text(change, "ah:operation") == operation
        )
        starts = (in_utc(start) for change in changes for start in self.objects(change, "prov:startedAtTime"))
        return sorted(start for start in starts if by is None or start <= by)

    def called(self, name: str, account: str, time: datetime, thing: str = "") -> str:
        """A name by which to ask for the object ``thing``, or for that which had the name at a time, or got it first
        after that: with its id where the name alone means another one, or none; without an id, with the time from which
        on another object has the name.
        """
        holders = [holder for holder in self.holders(name) if holder.account == account]
        then = [holder for holder in holders if holder.holds(time)] or [
            holder for holder in holders if datetime.fromisoformat(holder.since) > time and not self.is_made(holder)
        ][:1]
        thing = thing or (then[0].iri if len(then) == 1 else "")
        names = self.names_of(thing) if thing else []
        if names and names[0].ident:
            is_known = {holder.iri for holder in holders} == {thing} and holders[-1].until is None
            return name if is_known else f"{name} (object_id={names[0].ident})"
        later = (holder for holder in holders if holder.iri != thing and datetime.fromisoformat(holder.since) > time)
        other = next(later, None) if thing or not then else None
        return f"{name} (which is the name of another object since {other.since})" if other else name

    def is_made(self, holder: NameHolder) -> bool:
        """Whether a row made the object when it got the name."""
        return any(
            self.text(change, "ah:operation") in CREATES and self.text(change, "prov:startedAtTime") == holder.since
            for change in self.subjects("ah:changedObject", holder.iri)
        )

    def made_in_place(self, thing: str, until: datetime) -> list[NameHolder]:
        """What the statement made under the name of an object that ended this one at a time. By the statement: what it
        makes has the name since its start, and this one until its end, or while it is seen.
        """
        ended = [
            query
            for version in self.subjects("prov:specializationOf", thing)
            for time in self.objects(version, "prov:invalidatedAtTime")
            if until - MOMENT <= in_utc(time) <= until
            for query in self.objects(version, "prov:wasInvalidatedBy")
        ]
        names = {holder.key for holder in self.names_of(thing)}
        made = {
            holder
            for query in ended
            for change in self.objects(query, "ah:hasChange")
            for holder in self.made_by(change)
        }
        return [
            holder
            for holder in sorted(made, key=lambda holder: holder.order)
            if holder.iri != thing and holder.key in names
        ]

    def made_by(self, change: str) -> Iterator[NameHolder]:
        """What a change made, under the name that it got then."""
        if self.text(change, "ah:operation") in CREATES:
            since = self.text(change, "prov:startedAtTime")
            made = self.objects(change, "ah:changedObject")
            yield from (holder for thing in made for holder in self.names_of(thing) if holder.since == since)

    def has_mixed_ids(self) -> bool:
        """Whether rows name an object with an id and without."""
        return self.is_used(SAME_NAME)

    def same_names(self, thing: str) -> set[str]:
        """What may be this object: rows give one of the two with an id, and the other by the same name alone."""
        return {*self.objects(thing, SAME_NAME), *self.subjects(SAME_NAME, thing)}

    def _in_order(self, name_nodes: Iterable[str]) -> list[NameHolder]:
        holders = (holder for name_node in name_nodes for holder in self._holders(name_node))
        return sorted(holders, key=lambda holder: holder.order)

    def _holders(self, name_node: str) -> Iterator[NameHolder]:
        since, text = self.text(name_node, "ah:validFrom"), self.text(name_node, "ah:nameText")
        if since is None or text is None:
            return
        for thing in self.subjects("ah:hasName", name_node):
            domain, ident = self.text(thing, "ah:domain"), self.text(thing, "ah:objectId")
            until, seen = (self.text(name_node, term) for term in ("ah:validUntil", "ah:lastSeen"))
            yield NameHolder(since, thing, domain or "Object", ident, text, until, seen)

    def location(self, url: str) -> NameHolder | None:
        """The location outside of Snowflake with this URL; None if the graph has none. It has no periods."""
        for thing in sorted(self.with_text("ah:locationUrl", url.strip('"'))):
            if not any(self.objects(thing, "ah:hasName")):
                return NameHolder("", thing, self.text(thing, "ah:domain") or "Object", None, "", None)
        return None

    def of_id(self, ident: str) -> list[NameHolder]:
        """The objects with the id, each once, under its latest name."""
        holders = []
        for thing in self.with_text("ah:objectId", ident):
            names = self.names_of(thing)
            domain = self.text(thing, "ah:domain") or "Object"
            holders.append(names[-1] if names else NameHolder("", thing, domain, ident, "", None))
        return sorted(holders, key=lambda holder: holder.domain)

    def table_of_stage(self, stage: NameHolder) -> NameHolder | None:
        """The table, under its latest name, whose own stage (``@%T``) this is: the stage has the id of the table (view,
        ``objectId``). None for anything else, and where no row gives the table.
        """
        if stage.domain != TABLE_STAGE or stage.ident is None:
            return None
        same_id = (holder for holder in self.of_id(stage.ident) if holder.since and holder.account == stage.account)
        return next((holder for holder in same_id if holder.domain.lower().endswith("table")), None)

    def stages_of_table(self, table: str) -> list[str]:
        """The own stage (``@%T``) of a table; none of anything else, and where no row gives it."""
        ident, names = self.text(table, "ah:objectId"), self.names_of(table)
        if not ident or not names or not names[-1].domain.lower().endswith("table"):
            return []
        stages = (holder for holder in self.of_id(ident) if holder.domain == TABLE_STAGE)
        return [holder.iri for holder in stages if holder.account == names[-1].account]

    def same_stages(self, stage: str) -> set[str]:
        """The stages with the id and a name of this one, if one of the two is the stage of a table: they may be one."""
        ident, domain = (self.text(stage, term) or "" for term in ("ah:objectId", "ah:domain"))
        keys = {holder.key for holder in self.names_of(stage)} if ident and domain.endswith("Stage") else set()
        others = {
            thing: self.text(thing, "ah:domain") or ""
            for thing in (self.with_text("ah:objectId", ident) if keys else ())
            if thing != stage and not keys.isdisjoint(holder.key for holder in self.names_of(thing))
        }
        return {thing for thing, other in others.items() if other.endswith("Stage") and TABLE_STAGE in {domain, other}}

    def lost_with_table(self, stage: NameHolder) -> str | None:
        """When the stage of a table lost a name with its table, if its own rows say later, or never, that it did."""
        table = self.table_of_stage(stage)
        if table is None or (stage.until is None and table.until is None and table.key == stage.key):
            return None
        names = self.names_of(table.iri)
        ends = [holder.since for holder in names if holder.key != stage.key] + [
            holder.until for holder in names[-1:] if holder.until
        ]
        later = (end for end in ends if in_utc(end) > in_utc(stage.since))
        end = min(later, key=in_utc, default=None)
        return None if end and stage.until and in_utc(end) >= in_utc(stage.until) else end

    def is_of_kind(self, iri: str, kind: str) -> bool:
        """Whether an object is of the kind ``kind`` (in any spelling), by its domain or one of its classes."""
        classes = [class_iri.rpartition("#")[2] for class_iri in self.objects(iri, "rdf:type")]
        return _plain(kind) in {_plain(self.text(iri, "ah:domain") or ""), *map(_plain, classes)}

    def has_kind(self, kind: str) -> bool:
        """Whether the graph has any object of the kind."""
        if _plain(kind) in map(_plain, self.every("ah:domain")):
            return True
        class_names = {*DOMAIN_CLASSES.values(), *(name for names in KIND_CLASSES.values() for name in names)}
        classes = [name for name in class_names if _plain(name.partition(":")[2]) == _plain(kind)]
        return any(any(self.of_class(name)) for name in classes)

    def has_column(self, name: str, things: Iterable[str]) -> bool:
        """Whether any of the objects has a column of that name."""
        columns = self.with_text("ah:matchName", match_name(name))
        owners = {owner for column in columns for owner in self.objects(column, "ah:columnOf")}
        return not owners.isdisjoint(things)

    def columns_of(self, thing: str, names: Collection[str] = ()) -> list[str]:
        """The columns of an object; with ``names``, as they are compared, only those that have one of these."""
        return [column for column, name in self.once(_columns_of, thing) if not names or name in names]

    def spelled(self, thing: str, columns: Iterable[str]) -> list[str]:
        """The names of columns of an object as rows spell them. ``columns``: as names are compared, in order."""
        own = ((name, self.text(column, "ah:columnName") or "") for column, name in self.once(_columns_of, thing))
        spelled = dict(sorted(own, key=lambda names: names[1], reverse=True))  # of several the first by the alphabet
        return [spelled.get(name) or name for name in columns]

    def renamed_columns(self, column: str) -> Iterator[str]:
        """The columns that a column was renamed from or to: the same one under its other names."""
        yield from self.objects(column, "ah:renamedFrom")
        yield from self.subjects("ah:renamedFrom", column)

    def columns(self, things: Iterable[str]) -> set[str]:
        """The names of the objects' columns."""
        columns = (column for thing in things for column in self.subjects("ah:columnOf", thing))
        return {name for column in columns if (name := self.text(column, "ah:columnName"))}


def account_part(iri: str, *, has_id: bool) -> str:
    """The part of the IRI of an object that the IRIs of all objects in the rows of one account begin with. ``has_id``:
    whether rows give its id.
    """
    return iri.rsplit("/", 2 if has_id else 3)[0]


def _columns_of(graph: Lookups, thing: str) -> list[tuple[str, str | None]]:
    """The columns of an object, each with its name as names are compared."""
    return [(column, graph.text(column, "ah:matchName")) for column in graph.subjects("ah:columnOf", thing)]


def _plain(kind: str) -> str:
    """``External table``, ``EXTERNAL_TABLE`` and ``ExternalTable`` are one kind."""
    return kind.lower().replace(" ", "").replace("_", "")
