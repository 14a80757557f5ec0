"""Looks up the names that a question gives, before it is asked, so that an empty answer comes with its reason.

A note says which name, id, kind, column, user, agent or query the graph does not have, with the nearest that it has;
and which objects have another name now. An error says which name or id several kinds of things have, with the choice of
kinds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from exporter.ask.lookups import TABLE_STAGE, lasting
from exporter.ask.parameters import Parameter, ParameterValues, instant, values_of
from exporter.errors import UsageError
from exporter.model.identifiers import match_name
from exporter.privacy.key import PSEUDONYM
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from exporter.ask.lookups import Lookups, NameHolder

IN_EACH_ACCOUNT: Final = "accounts: the answer has the objects with this id in each."
NEAREST: Final = 3
"""How many of the nearest names a message lists."""
_MANY: Final = 5_000
"""Up to so many names are all compared, in some tenths of a second. Of more, only those with a similar start or end
are.
"""


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The names that are most similar to ``name``, without regard to quotes and letter case; names with the same last
    part come first.
    """
    key, by_key = _without_quotes(name), defaultdict[str, list[str]](list)
    for text in sorted(names):
        by_key[_without_quotes(text)].append(text)
    last = f".{key.rpartition('.')[2]}"
    same_last_part = sorted(text for text in by_key if text.endswith(last) and text != key)
    similar = get_close_matches(key, _alike(key, by_key), n=NEAREST)
    if same_last_part and similar and similar[0] in same_last_part:
        same_last_part, similar = similar, same_last_part
    same = [key] if key in by_key else []
    return [text for candidate in dict.fromkeys([*same, *same_last_part, *similar]) for text in by_key[candidate]][
        :NEAREST
    ]


def _without_quotes(name: str) -> str:
    return name.replace('"', "").upper()


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
LOCATION_ALONE: Final = (
    "A location outside of Snowflake has no name. Questions take its URL in the place of a name if it is the only one, "
    "but for sensitive-data-movement; exporter serve has a page of it."
)
PSEUDONYMS: Final = (
    "Users have pseudonyms in this graph (export --pseudonyms): ask by the pseudonym, which the key makes from the "
    "name (docs/privacy.md)."
)
_TERMS: Final = {"user": "ah:userName", "agent": "ah:agentName", "query": "ah:queryId"}
"""Kind of parameter -> the property that has its values."""


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


def look_up(graph: Lookups, parameters: Sequence[Parameter], params: ParameterValues) -> ResolvedParameters:
    """Looks up the values of all parameters; raises UsageError where a name or id is ambiguous."""
    resolved = ResolvedParameters({name: [*values_of(params, name)] for name in params})
    given = {parameter.kind: resolved.params[parameter.name] for parameter in parameters if parameter.name in params}
    kinds = {kind: graph.every("ah:domain") for kind in given.get("domain", ()) if not graph.has_kind(kind)}
    resolved.notes += [
        f"There is no object of the kind {kind} in the graph, but: {', '.join(sorted(others))}."
        for kind, others in kinds.items()
    ]
    domain = next((parameter for parameter in parameters if parameter.kind == "domain"), None)
    things = resolved.things = _look_up_objects(graph, given, domain, resolved)
    for column in given.get("column", ()) if things else ():
        if not graph.has_column(column, things):
            resolved.notes.append(_no_column(graph, column, things))
    for tag in given.get("tag", ()):
        tags = [holder for holder in graph.holders(tag) if holder.domain == "Tag"]
        if not tags:
            resolved.notes.append(_none("tag", tag, graph.every("ah:nameText")))
        elif len({holder.iri for holder in tags}) > len({holder.account for holder in tags}):
            resolved.notes.append(
                f"Several tags have or had the name {tag}; the answer has all of them:{_listed(tags)}"
            )
    for kind, term in _TERMS.items():
        for value in given.get(kind, ()):
            if not _has(graph, kind, value):
                texts = graph.every(term)
                names = _other_names_of_agent(graph, value) if kind == "agent" else []
                ask = f"{value} is another name of {', '.join(names)}, and no query has an agent of that name."
                resolved.notes.append(ask if names else _none(kind, value, texts))
                if kind == "user" and any(map(PSEUDONYM.fullmatch, texts)):
                    resolved.notes.append(PSEUDONYMS)
    return resolved


def _no_column(graph: Lookups, column: str, things: Collection[str]) -> str:
    """The note on a column that none of the objects has; perhaps they have it without the quotes of a statement."""
    bare = column[1:-1].replace('""', '"') if re.fullmatch('".+"', column, re.DOTALL) else ""
    if bare and graph.has_column(bare, things):
        return f"Rows give names of columns without quotes: ask for {bare}, not for {column}."
    return _none("column", column, graph.columns(things)).replace("the graph", "the object")


def _has(graph: Lookups, kind: str, value: str) -> bool:
    """Whether there is a user or software agent of that name, or a query with that id: one with a row, or one that
    another names as its parent.
    """
    if kind == "query":
        return any(graph.with_text("ah:queryId", value))
    if kind == "agent":
        return any(match_name(value) == (text if '"' in text else text.upper()) for text in graph.every("ah:agentName"))
    return any(graph.users(value))


def _other_names_of_agent(graph: Lookups, name: str) -> list[str]:
    """The names in the rows of queries that an agent has which DDL gives this one."""
    things = {
        holder.iri
        for holder in graph.holders(name)
        if holder.ident and any(graph.with_text("ah:agentId", holder.ident))
    }
    return sorted(
        {holder.name for thing in things for holder in graph.names_of(thing) if _has(graph, "agent", holder.name)}
    )


def _none(word: str, value: str, candidates: Iterable[str]) -> str:
    similar = nearest(value, candidates)
    return f"There is no {word} {value} in the graph." + (f" The nearest: {', '.join(similar)}." if similar else "")


# --- objects ----------------------------------------------------------------------------------------------------------


def _look_up_objects(
    graph: Lookups, given: Mapping[str, list[str]], domain: Parameter | None, resolved: ResolvedParameters
) -> set[str]:
    """The objects that names and ids mean, at any time. ``given``: the values by the kinds of their parameters."""
    kinds, idents = (given.get(kind, []) for kind in ("domain", "object id"))
    if "object" not in given:
        default = [domain.default] if domain and domain.default else []
        by_id = {ident: _of_id(graph, ident, kinds or default, resolved) for ident in idents}
        if domain is not None and not kinds and not default:
            _leave_out_stages_of_tables(domain, by_id, resolved)
        for ident, holders in by_id.items() if not kinds and not default else ():
            _refuse_several(ident, holders)
        return {holder.iri for of_id in by_id.values() for holder in of_id}
    if not graph.is_used("ah:matchName") and graph.is_used("ah:nameText"):
        raise UsageError(
            "This graph holds no names to match, since an older version of exporter made it: export its rows again "
            "(exporter export … --replace), or ask by --param object_id=ID."
        )
    by_name = {name: _of_name(graph, name, kinds, idents, resolved) for name in given["object"]}
    if domain is not None and not kinds and not idents:
        _choose(domain, by_name, resolved)
    for name, meant in by_name.items():
        named = [holder for holder in meant if holder.since]  # no location
        resolved.notes += _renamed(graph, name, named, resolved.params, domain) if named else ()
    given["object"][:] = list(dict.fromkeys(text for name, meant in by_name.items() for text in _exactly(name, meant)))
    holders = [holder for name_holders in by_name.values() for holder in name_holders]
    locations = [holder for holder in holders if not holder.since]
    if len(locations) == len(by_name) == 1:
        resolved.location = locations[0]
    elif locations:
        resolved.notes.append(LOCATION_ALONE)
    return {holder.iri for holder in holders}


def _of_name(
    graph: Lookups, name: str, kinds: list[str], idents: list[str], resolved: ResolvedParameters
) -> list[NameHolder]:
    location = graph.location(name)
    holders = graph.meant(name) or ([location] if location else [])
    if not holders:
        names = graph.every("ah:nameText") | graph.every("ah:locationUrl")
        resolved.notes.append(_none("object", name, names))
        return []
    matching = [holder for holder in _of_kinds(graph, holders, kinds) if not idents or holder.ident in idents]
    if matching:
        accounts = {graph.owner_of(holder.iri) for holder in matching}
        if len(accounts) > 1:
            resolved.notes.append(
                f"{name} is a name in {len(accounts)} accounts: the answer has the objects with this name in each."
            )
    else:
        restrictions = " and ".join(
            [*(f"domain={kind}" for kind in kinds), *(f"object_id={ident}" for ident in idents)]
        )
        resolved.notes.append(f"No object that was called {name} has {restrictions}. There is:{_listed(holders)}")
        resolved.notes += [
            f"Rows have the stage of {holder.thing} under the name {stage.name}: ask without a name, by "
            f"--param object_id={stage.ident} --param domain='{TABLE_STAGE}'."
            for holder in {holder.iri: holder for holder in holders}.values()
            for stage in _of_kinds(graph, graph.of_id(holder.ident or ""), kinds)
            if stage.domain == TABLE_STAGE and stage.account == holder.account
        ]
    return matching


def _exactly(name: str, meant: Sequence[NameHolder]) -> list[str]:
    """The name as it was given, and the names of the stages of users that it means in another letter case."""
    others = [holder.name for holder in meant if holder.since and holder.key[1] != match_name(name)]
    return others if others and len(others) == len(meant) else [name, *others]


def _of_kinds(graph: Lookups, holders: Iterable[NameHolder], kinds: list[str]) -> list[NameHolder]:
    """Those of one of the kinds; all where no kind is given."""
    return [holder for holder in holders if not kinds or any(graph.is_of_kind(holder.iri, kind) for kind in kinds)]


def _of_id(graph: Lookups, ident: str, kinds: list[str], resolved: ResolvedParameters) -> list[NameHolder]:
    things = graph.of_id(ident)
    if not things:
        resolved.notes.append(_none("object with the id", ident, graph.every("ah:objectId")))
        return []
    matching = _of_kinds(graph, things, kinds)
    if not matching:
        resolved.notes.append(
            f"There is no {' or '.join(kinds)} with the id {ident}. Give the kind with --param domain=KIND:"
            + _listed(things)
        )
    owners = {graph.owner_of(holder.iri) for holder in matching}
    if len(owners) > 1:
        resolved.notes.append(f"{ident} is an id in {len(owners)} {IN_EACH_ACCOUNT}")
    return matching


def _refuse_several(ident: str, holders: list[NameHolder]) -> None:
    """Raises UsageError if things of several kinds have an id, or several things of one account."""
    is_of_one_account = len({holder.account for holder in holders}) == 1
    if len(holders) > 1 and (is_of_one_account or len({holder.domain for holder in holders}) > 1):
        raise UsageError(f"Several things have the id {ident}. Choose one with --param domain=KIND:{_listed(holders)}")


def _choose(domain: Parameter, by_name: dict[str, list[NameHolder]], resolved: ResolvedParameters) -> None:
    """Where things of several kinds have one name, takes the question's default kind, if the other names are of that
    kind too; otherwise raises UsageError. Names that mean things of one kind each combine, whatever the kinds are.
    """
    _leave_out_stages_of_tables(domain, by_name, resolved)
    kinds = {name: set(filter(None, map(_kind_of_name, holders))) for name, holders in by_name.items()}
    for name, holders in by_name.items():
        if len(kinds[name]) < 2:
            continue
        other_kinds = set().union(*(kinds[other] for other in kinds if other != name))
        if domain.default in kinds[name] and other_kinds <= {domain.default} and domain.default != "Table":
            resolved.params[domain.name] = [str(domain.default)]
            resolved.notes.append(
                f"{name}: the {domain.default} is used. Choose another with --param domain=KIND:{_listed(holders)}"
            )
            return
        raise UsageError(
            f"{name} is the name of several kinds of things. Choose one with --param {domain.name}=KIND:"
            + _listed(holders)
        )


def _leave_out_stages_of_tables(
    domain: Parameter, by_name: dict[str, list[NameHolder]], resolved: ResolvedParameters
) -> None:
    """A name, or an id, is that of a table, and not of its own stage (``@%T``), which always has the same one."""
    without_stages = {
        name: [holder for holder in holders if holder.domain != TABLE_STAGE] for name, holders in by_name.items()
    }
    clear = {
        name: holders for name, holders in without_stages.items()
        if holders != by_name[name] and {_kind_of_name(holder) for holder in holders} - {None} == {"Table"}
    }  # fmt: skip
    by_name.update(clear)
    if clear:
        resolved.params[domain.name] = sorted({holder.domain for holders in by_name.values() for holder in holders})
        resolved.notes += [
            f"{name}: the table is used, and not its stage (@%). For that one: --param {domain.name}='{TABLE_STAGE}'."
            for name in clear
        ]


def _kind_of_name(holder: NameHolder) -> str | None:
    """The kind of a thing that a name can mean alone; tables and views are one. None for tags, which are asked for by
    their own parameter, policies, and "Object", which may be any kind.
    """
    if holder.domain in {"Tag", "Object"} or holder.domain.endswith(" Policy"):
        return None
    # Of tables and views, no two have one name at one time (Snowflake, "Identifier requirements").
    return "Table" if holder.domain == "View" else holder.domain


def _listed(holders: Sequence[NameHolder]) -> str:
    lines = [
        f"\n  {visible(holder.thing)}" + (f", {visible(holder.name)}, from {holder.since}" if holder.name else "")
        + (f" until {holder.until}" if holder.until else "")
        for holder in lasting(holders)
    ]  # fmt: skip
    more = [f"\n  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "".join([*lines[:_SHOWN], *more])


# --- names that changed -----------------------------------------------------------------------------------------------


def by_id(graph: Lookups, ident: str, kind: str, domain: Parameter | None) -> str:
    """How to ask a question for an object by its id: ``object_id=5 domain=Stage``; without the kind where the id means
    it. ``domain``: the parameter for the kind, if the question has one.
    """
    kinds = {kind, "Table", *(holder.domain for holder in graph.of_id(ident))}
    is_clear = domain is None or len({*kinds, domain.default or "Table"}) == 1
    return f"object_id={ident}" if is_clear else f"object_id={ident} domain={kind}"


def _renamed(
    graph: Lookups, name: str, holders: list[NameHolder], params: ParameterValues, domain: Parameter | None
) -> Iterator[str]:
    """Notes on objects that had the name and have another now, and on names that no object had at the time ``at``."""
    for at in values_of(params, "at"):
        if not any(holder.holds(instant("at", at)) for holder in holders):
            yield f"No object was called {name} at {at}, as far as rows say. There is:{_listed(holders)}"
    gone = {holder.iri: holder for holder in holders if holder.until is not None}
    for iri in {holder.iri for holder in holders if holder.until is None}:
        gone.pop(iri, None)
    lines = [
        f"{holder.thing} had the name {name} until {holder.until}, and is called {present.name} now."
        for iri, holder in gone.items()
        if graph.lost_with_table(holder) is None  # a note on stages of tables has it
        for present in graph.names_of(iri)
        if present.until is None  # none of an object that was dropped, or whose name another one took
    ]
    lines += _dropped(graph, name, holders, params, domain)
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"The same is true of {len(lines) - _SHOWN} more objects."


def _dropped(
    graph: Lookups, name: str, holders: list[NameHolder], params: ParameterValues, domain: Parameter | None
) -> Iterator[str]:
    """A note if the object that had the name last was dropped, so that its former names do not count."""
    for account in sorted({holder.account for holder in holders}):
        of_account = [holder for holder in holders if holder.account == account]
        last, names = of_account[-1], graph.names_of(of_account[-1].iri)
        earlier = (holder.name for holder in names[:-1] if holder.key != last.key)
        former = dict.fromkeys(earlier)
        is_dropped = last.until is not None and names[-1] == last  # its last name, and no other object took it
        if is_dropped and former and not any(_has_at_last(holder, params) for holder in of_account):
            yield (
                f"{last.thing} had the name {name} until {last.until}, when it was dropped; what it did under former "
                f"names ({', '.join(former)}) is in the answer by "
                f"{by_id(graph, last.ident or '', last.domain, domain)}."
            )


def _has_at_last(holder: NameHolder, params: ParameterValues) -> bool:
    """Whether the object has the name at ``at``, before ``until``, or at the end of the record."""
    ends = [instant("until", value) for value in values_of(params, "until")]
    if "at" in params or not ends:
        return holder.until is None or any(holder.holds(instant("at", at)) for at in values_of(params, "at"))
    since, until = (instant("validFrom", time) if time else None for time in (holder.since, holder.until))
    return any(since is not None and since < end and (until is None or end <= until) for end in ends)
