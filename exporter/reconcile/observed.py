"""What rows show of the objects that a declaration names: which queries filled them, from which objects and columns.

A query fills an object from all that it read (``prov:wasDerivedFrom`` of the version that it wrote), and a column from
those that the row lists as its sources. What only filters is read, and no column comes from it.

Helpers are left out: where a query reads a table that a load fills, reads and drops (dbt's ``__dbt_tmp``), what
filled that table stands in its place; where it reads such a view, the objects behind it do. Where rows do not say all
that filled the helper, they do not say all that filled its reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.answers import Row
from exporter.ask.lookups import Lookups
from exporter.ask.parameters import as_text
from exporter.ask.questions import select
from exporter.ask.triples import PROLOGUE
from exporter.input.times import parse_time
from exporter.model.facts import TEXTS
from exporter.model.identifiers import match_name
from exporter.openlineage.helpers import is_named
from exporter.openlineage.settings import HELPERS
from exporter.reconcile.clones import Clones

if TYPE_CHECKING:
    from pyoxigraph import Store

_REMOVING: Final = ("DELETE", "TRUNCATE")
"""The beginnings of ``query_type`` of queries that fill nothing."""
_OF_QUERY: Final = ", ".join(f'"{name}"' for name in TEXTS)
"""Columns that say nothing of what a query read or wrote."""
_AT_ONCE: Final = 200
"""Objects in one question."""
_PERIOD: Final = f"""{PROLOGUE}SELECT (MIN(?time) AS ?first) (MAX(?time) AS ?last) WHERE {{
  ?query prov:startedAtTime ?time ; prov:wasAssociatedWith ?user .
}}"""
_WRITES: Final = f"""{PROLOGUE}SELECT ?target ?version ?prior ?query ?id ?count ?time ?type
  ?wrote ?columns ?cut
WHERE {{
  VALUES ?target {{ @objects@ }}
  ?version prov:specializationOf ?target ; prov:wasGeneratedBy ?query .
  ?query prov:startedAtTime ?time .
  OPTIONAL {{ ?version ah:priorVersion ?prior }}
  OPTIONAL {{ ?query ah:queryId ?id }}
  OPTIONAL {{ ?query ah:queryCount ?count }}
  OPTIONAL {{ ?query ah:queryType ?type }}
  BIND(EXISTS {{ ?version ah:objectName ?name }} AS ?wrote)
  BIND(EXISTS {{ ?version ah:wroteColumn ?column }} AS ?columns)
  BIND(EXISTS {{ ?query ah:incomplete ?part FILTER(STRBEFORE(?part, " ") NOT IN ({_OF_QUERY})) }} AS ?cut)
}}"""
_READS: Final = f"""{PROLOGUE}SELECT DISTINCT ?version ?read ?source ?domain ?name ?helper ?direct ?base ?provider
WHERE {{
  VALUES ?target {{ @objects@ }}
  ?version prov:specializationOf ?target ; prov:wasGeneratedBy ?query ; prov:wasDerivedFrom ?read .
  ?read prov:specializationOf ?source .
  OPTIONAL {{ ?source ah:domain ?domain }}
  OPTIONAL {{ ?source rdfs:label ?name }}
  OPTIONAL {{ ?source ah:isHelper ?helper }}
  BIND(EXISTS {{
    ?query (prov:qualifiedUsage|ah:accessPattern) ?access .
    ?access ah:accessType "DIRECT" ; ah:accessedObject ?source
  }} || EXISTS {{
    ?column_version dcterms:isPartOf ?version ; ^ah:targetColumnVersion|ah:derivationPattern ?derivation .
    ?derivation ah:sourceType "DIRECT" ; ah:sourceObject ?source
  }} AS ?direct)
  BIND(EXISTS {{ ?version ah:derivedFromBase ?read }} AS ?base)
  BIND(EXISTS {{
    ?query (prov:qualifiedUsage|ah:accessPattern) ?access .
    ?access ah:accessType "PROVIDER_BASE" ; ah:accessedObject ?source
  }} AS ?provider)
}}"""
_COLUMNS: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?target ?target_column ?source ?source_column ?kind WHERE {{
  VALUES ?target {{ @objects@ }}
  ?column ah:columnOf ?target ; ah:columnName ?target_column .
  ?version prov:specializationOf ?column ; prov:wasGeneratedBy ?query ;
    ^ah:targetColumnVersion|ah:derivationPattern ?derivation .
  ?derivation ah:sourceObject ?source ; ah:sourceType ?kind ; ah:sourceColumn/ah:columnName ?source_column .
}}"""
_BEGUN: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?target ?column_name ?former_name WHERE {{
  VALUES ?target {{ @objects@ }}
  ?column ah:columnOf ?target ; ah:columnName ?column_name .
  ?version prov:specializationOf ?column ; prov:wasGeneratedBy ?query .
  OPTIONAL {{
    ?column ah:renamedFrom ?former .
    ?former ah:columnName ?former_name .
    ?version prov:wasDerivedFrom/prov:specializationOf ?former .
    FILTER NOT EXISTS {{ ?version ^ah:targetColumnVersion|ah:derivationPattern ?filled }}
  }}
  FILTER(BOUND(?former_name) || NOT EXISTS {{ ?version ah:priorColumnVersion ?before }})
}}"""
"""The columns that have nothing from before a query: they were added, or had the former name, if it renamed them."""
_READ_COLUMNS: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?source ?column WHERE {{
  VALUES ?target {{ @objects@ }}
  ?version prov:specializationOf ?target ; prov:wasGeneratedBy ?query .
  ?query (prov:qualifiedUsage|ah:accessPattern) ?access .
  ?access ah:accessedObject ?source ; ah:readColumn/ah:columnName ?column .
}}"""
_VIEWS: Final = f"""{PROLOGUE}SELECT DISTINCT ?view ?source ?name ?view_column ?column ?evidence ?id ?first ?last
WHERE {{
  VALUES ?view {{ @objects@ }}
  ?behind ah:view ?view ; ah:sourceObject ?source ; ah:evidence ?evidence ; ah:firstSeen ?first ; ah:lastSeen ?last .
  OPTIONAL {{ ?source rdfs:label ?name }}
  OPTIONAL {{ ?behind ah:viewColumn/ah:columnName ?view_column }}
  OPTIONAL {{ ?behind ah:sourceColumn/ah:columnName ?column }}
  OPTIONAL {{ ?behind ah:evidenceQueryId ?id }}
}}"""
_CUT: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?time ?source WHERE {{
  ?query ah:incomplete ?part ; prov:startedAtTime ?time .
  FILTER(STRSTARTS(?part, "objects_modified"))
  FILTER NOT EXISTS {{ ?query ah:madeVersion ?made }}
  OPTIONAL {{ ?query (prov:qualifiedUsage|ah:accessPattern)/ah:accessedObject ?source }}
}}"""
_LEAVING: Final = f"""{PROLOGUE}SELECT DISTINCT ?source ?target ?name ?helper WHERE {{
  VALUES ?source {{ @objects@ }}
  ?read prov:specializationOf ?source . ?version prov:wasDerivedFrom ?read ; prov:specializationOf ?target .
  FILTER(?source != ?target)
  OPTIONAL {{ ?target rdfs:label ?name }}
  OPTIONAL {{ ?target ah:isHelper ?helper }}
}}"""


class Run(NamedTuple):
    """A query, or the calls that a row of AGGREGATE_ACCESS_HISTORY stands for, which have no ``ident``. ``time``: of
    its start, in microseconds since 1970 (UTC).
    """

    time: int
    iri: str
    ident: str | None
    calls: int


class Source(NamedTuple):
    """An object that a query filled another one from. ``version``: the one that it read. ``is_direct``: the statement
    names it, in place of its being behind a view that the statement names. ``is_base``: rows have it as a base object.
    ``is_of_provider``: rows have it as a table of the provider of a share, of which they list no source columns.
    ``through``: the name of the helper between the two; ``is_behind``: that helper is a view, and views between it and
    the object are in no row.
    """

    iri: str
    version: str
    is_direct: bool
    is_base: bool
    is_of_provider: bool = False
    through: str | None = None
    is_behind: bool = False


@dataclass
class Version:
    """A version of an object. ``run``: the query that made it; ``prior``: the version before; ``is_filled``: whether
    data came into it, not only out of it. Of one that is filled, ``unclear``: the row does not say everything that the
    query read or wrote; ``has_columns``: the row lists columns.
    """

    run: Run
    target: str
    prior: str | None
    is_filled: bool
    unclear: bool
    has_columns: bool
    sources: list[Source] = field(default_factory=list)

    @cached_property
    def read(self) -> dict[str, str]:
        """Object -> the version of it that was read."""
        return {source.iri: source.version for source in self.sources}

    def reads_of_provider(self, things: Collection[str]) -> bool:
        """Whether one of these objects was read, and only as a table of a share's provider."""
        read = [source for source in self.sources if source.iri in things and source.is_of_provider]
        return bool(read) and not any(source.is_direct or source.is_base for source in read)


Pair = tuple[str, str, str, str]
"""The IRI of a source, its column, the IRI of a target, its column. Columns are in the form in which names are
compared, and empty for the whole object.
"""


class ViewEvidence(NamedTuple):
    """An object behind a view. ``view_column``, ``column``: None for what is about whole objects; ``is_certain``: as
    ``ah:evidence``. ``first``, ``last``: when queries of the period read the view while it was over the object; if none
    did (``is_read``), when others did before and after the period. ``ident``: of the first query, if it is known.
    """

    iri: str
    view_column: str | None
    column: str | None
    is_certain: bool
    ident: str | None
    first: int
    last: int
    is_read: bool


def runs_of_view(evidence: Collection[ViewEvidence]) -> list[Run]:
    """The first query that showed what is behind a view, and the time of the last one, which the graph has alone."""
    first, last = min(evidence, key=lambda entry: entry.first), max(entry.last for entry in evidence)
    return [Run(first.first, "", first.ident, 1), *([Run(last, "", None, 0)] if last != first.first else [])]


def is_stage(iri: str) -> bool:
    """Whether an object is a stage, by its IRI."""
    return "/stage/" in iri or "-stage/" in iri


@dataclass
class Observed:
    """What the rows of a period show. ``since``, ``until``: microseconds since 1970 (UTC), the end excluded; ``first``,
    ``last``: when the first and last query of the record started, None where it has none.
    """

    store: Store
    since: int | None = None
    until: int | None = None
    first: int | None = None
    last: int | None = None
    names: dict[str, str] = field(default_factory=dict)
    fills: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    """Object -> its versions that queries of the period filled."""
    runs: dict[Pair, dict[str, Run]] = field(default_factory=lambda: defaultdict(dict))
    """The queries that filled a target, or a column, from a source, or a column. Of a column and a whole target: those
    that read the column.
    """
    sources: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Target -> the objects that queries of the period filled it from."""
    direct: dict[tuple[str, str], Source] = field(default_factory=dict)
    """(source, target) -> the source, where a statement names it, or a helper that is a view over it."""
    behind_helpers: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Target -> what is behind the helpers that are views, with the names of the helpers."""
    direct_columns: set[Pair] = field(default_factory=set)
    column_pairs: set[tuple[str, str]] = field(default_factory=set)
    """The sources and targets of which data went from a column to a column."""
    behind: dict[str, list[ViewEvidence]] = field(default_factory=lambda: defaultdict(list))
    cut: dict[str, frozenset[str]] = field(default_factory=dict)
    """The queries of which no row shows what they wrote -> what they read, as far as rows show it."""

    def __post_init__(self) -> None:
        """Looks up the period of the record."""
        self.clones = Clones(self.rows, Lookups(self.store))
        for first, last in select(self.store, _PERIOD, "the period").rows:
            self.first, self.last = (parse_time(time) if time else None for time in (first, last))

    def has(self, time: int) -> bool:
        """Whether a time is in the period that was asked for."""
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)

    @property
    def begin(self) -> int | None:
        """When the first query started that can be in the period."""
        return max((time for time in (self.first, self.since) if time is not None), default=None)

    @property
    def end(self) -> int | None:
        """When the last query started that can be in the period."""
        ends = [self.last, None if self.until is None else self.until - 1]
        return min((time for time in ends if time is not None), default=None)

    def load(self, objects: Collection[str]) -> None:
        """Adds what rows show of how the objects were filled."""
        _FillReader(self, objects).add()
        self.clones.load(set[str]().union(*self.sources.values()))
        lookups = Lookups(self.store)
        times_read = cache(lambda view: [parse_time(as_text(time)) or 0 for time in lookups.read_times(view)])
        for row in self.rows(_VIEWS, {*objects, *(source for source, _ in self.direct)}):
            view, source, name, view_column, column, evidence, ident, first, last = row
            first_seen, last_seen = parse_time(str(first)) or 0, parse_time(str(last)) or 0
            is_before = self.since is not None and last_seen < self.since
            if is_before or (self.until is not None and first_seen >= self.until):
                continue
            of_view, of_source = (
                match_name(column_name) if column_name else None for column_name in (view_column, column)
            )
            self.names[str(source)] = name or str(source)
            times = [time for time in times_read(str(view)) if first_seen <= time <= last_seen]
            times = [time for time in (first_seen, *times, last_seen) if self.has(time)]
            begin, end = (min(times), max(times)) if times else (first_seen, last_seen)
            first_id, certain = ident if begin == first_seen else None, evidence == "CERTAIN"
            self.behind[str(view)].append(
                ViewEvidence(str(source), of_view, of_source, certain, first_id, begin, end, bool(times))
            )
        for query, time, source in select(self.store, _CUT, "what was cut").rows:
            if self.has(parse_time(str(time)) or 0):
                self.cut[str(query)] = self.cut.get(str(query), frozenset()) | ({source} if source else frozenset())

    def outgoing(self, objects: Collection[str]) -> set[str]:
        """What else was filled from the objects, at any time, through helpers."""
        targets, read, waiting = set[str](), set[str](), set(objects)
        while waiting:
            read |= waiting
            rows = [(str(target), _is_helper(name, helper)) for _, target, name, helper in self.rows(_LEAVING, waiting)]
            targets.update(target for target, is_helper in rows if not is_helper)
            waiting = {target for target, is_helper in rows if is_helper} - read
        return targets - set(objects)

    def rows(self, question: str, objects: Iterable[str]) -> Iterator[Row]:
        """The answers of a question about objects, some of them at a time."""
        ordered = sorted(objects)
        for first in range(0, len(ordered), _AT_ONCE):
            values = " ".join(f"<{iri}>" for iri in ordered[first : first + _AT_ONCE])
            yield from select(self.store, question.replace("@objects@", values), "what rows show").rows


class _FillReader:
    """How some objects were filled; helpers that they were filled from are looked up as well."""

    def __init__(self, observed: Observed, objects: Collection[str]) -> None:
        self._observed, self._objects = observed, set(objects)
        self._versions = dict[str, Version]()
        self._columns: dict[tuple[str, str], list[tuple[str, str, str, bool]]] = defaultdict(list)
        """(query, target) -> (target's column, source, its column, whether it is direct)."""
        self._begun = dict[tuple[str, str, str], str]()
        """(query, helper, column) -> the column whose data it has from before the query, empty for none."""
        self._helpers, self._read_objects = set[str](), set[str]()

    def add(self) -> None:
        self._read(self._objects)
        while waiting := self._helpers - self._read_objects:
            self._read(waiting)
            for query, helper, column, former in self._observed.rows(_BEGUN, waiting):
                place = str(query), str(helper), match_name(str(column))
                self._begun[place] = self._begun.get(place) or match_name(former or "")
        for target in sorted(self._objects):
            for version in self._observed.fills.get(target, ()):
                self._add_pairs(version)
                self._add_columns(version)
        self._add_read_columns()

    def _read(self, objects: set[str]) -> None:
        """Reads how objects were filled."""
        self._read_objects |= objects
        made = dict(map(_version, self._observed.rows(_WRITES, objects)))
        self._read_sources(objects, made)
        cloned = self._observed.clones.queries(objects)
        for row in self._observed.rows(_COLUMNS, objects):
            query, target, target_column, source, source_column, type_ = map(str, row)
            self._columns[query, target].append(
                (match_name(target_column), source, match_name(source_column), type_ == "DIRECT")
            )
        self._versions |= made
        for version in made.values():
            place = version.run.iri, version.target
            if place in cloned:
                version.is_filled = version.unclear = True
            if version.is_filled:
                # Without sources, columns that were written show values (INSERT … VALUES); without these, nothing is
                # known.
                version.unclear = version.unclear or not (version.sources or version.has_columns)
                version.has_columns = place in self._columns
                if self._observed.has(version.run.time):
                    self._observed.fills[version.target].append(version)

    def _read_sources(self, objects: set[str], made: Mapping[str, Version]) -> None:
        """Adds to versions what their queries read."""
        for row in self._observed.rows(_READS, objects):
            iri, read, source = (str(cell) for cell in row[:3])
            kind, label, helper, direct, base, provider = row[3:]
            if _is_routine(kind or ""):
                continue
            name = self._observed.names[source] = label or source
            made[iri].sources.append(Source(source, read, direct == "true", base == "true", provider == "true"))
            made[iri].is_filled = True
            if _is_helper(name, helper) and source not in self._objects:
                self._helpers.add(source)

    def _add_pairs(self, version: Version) -> None:
        through = set[str]()
        sources = list(self._sources(version, through))
        version.unclear = version.unclear or any(self._versions[filling].unclear for filling in through)
        for source in sources:
            self._observed.sources[version.target].add(source.iri)
            self._observed.runs[source.iri, "", version.target, ""][version.run.iri] = version.run
            key = source.iri, version.target
            if source.is_behind:
                self._observed.behind_helpers[version.target][source.iri] = source.through or ""
            if source.is_direct and (key not in self._observed.direct or not source.is_behind):
                self._observed.direct[key] = source

    def _sources(self, version: Version, visited: set[str]) -> Iterator[Source]:
        """What a version was made from, through helpers. ``visited``: the versions of helpers that it came through."""
        has_direct = any(source.is_direct for source in version.sources)
        for source in version.sources:
            if source.iri not in self._helpers:
                yield source if has_direct else source._replace(is_direct=True)
                continue
            held = list(self._chain(source.version))
            earlier = [filling for filling in held if filling not in visited]
            visited.update(earlier)
            behind = [origin for filling in earlier for origin in self._sources(self._versions[filling], visited)]
            if not behind and not source.is_base:
                # a view: what is behind it is among the base objects of the same query
                bases = [base for base in version.sources if base.is_base]
                others = (base for base in bases if not base.is_direct or base.iri not in self._helpers)
                behind = [base._replace(is_direct=True, is_behind=True) for base in others]
            is_empty = not behind and not any(self._versions[filling].is_filled for filling in held)
            if is_empty or self._observed.clones.origins(source.iri):
                version.unclear = True  # no row shows what filled the helper
            through = self._observed.names[source.iri]
            for origin in behind:
                if origin.iri != version.target:
                    yield origin._replace(through=through, is_direct=source.is_direct and origin.is_direct)

    def _chain(self, version: str | None) -> Iterator[str]:
        """A version and those before it that are on record."""
        while version in self._versions:
            yield version
            version = self._versions[version].prior

    def _add_columns(self, version: Version) -> None:
        for target_column, source, source_column, direct in self._columns[version.run.iri, version.target]:
            read = version.read.get(source)
            for iri, column, is_direct in self._column_sources(source, source_column, read, set(), is_direct=direct):
                pair = iri, column, version.target, target_column
                self._observed.runs[pair][version.run.iri] = version.run
                self._observed.runs[iri, "", version.target, target_column][version.run.iri] = version.run
                self._observed.column_pairs.add((iri, version.target))
                if is_direct:
                    self._observed.direct_columns.add(pair)

    def _column_sources(
        self, source: str, column: str, version: str | None, visited: set[tuple[str, str, bool]], *, is_direct: bool
    ) -> Iterator[tuple[str, str, bool]]:
        """What a column is made from, through helpers: direct if each step is. A column that was renamed is the same
        one; one that was dropped and added again is another.
        """
        if source not in self._helpers:
            yield source, column, is_direct
            return
        for earlier in self._chain(version):
            if (earlier, column, is_direct) in visited:
                return  # and so is what was before
            visited.add((earlier, column, is_direct))
            filling = self._versions[earlier]
            for target_column, before, before_column, direct in self._columns[filling.run.iri, source]:
                if target_column == column:
                    read = filling.read.get(before)
                    both = is_direct and direct
                    yield from self._column_sources(before, before_column, read, visited, is_direct=both)
            column = self._begun.get((filling.run.iri, source, column), column)
            if not column:
                return

    def _add_read_columns(self) -> None:
        by_query = defaultdict[str, list[Version]](list)
        for version in self._versions.values():
            if version.target in self._objects and self._observed.has(version.run.time):
                by_query[version.run.iri].append(version)
        for query, source, column in self._observed.rows(_READ_COLUMNS, self._objects):
            for version in by_query.get(str(query), ()):
                pair = str(source), match_name(str(column)), version.target, ""
                self._observed.runs[pair][version.run.iri] = version.run


def _version(row: Row) -> tuple[str, Version]:
    """The IRI of a version, and what its row of ``_WRITES`` tells."""
    target, iri, prior, query, ident, count, time, kind, wrote, columns, cut = row
    run = Run(parse_time(str(time)) or 0, str(query), ident, int(count or 1))
    removes = (kind or "").upper().startswith(_REMOVING) and columns != "true"
    fills = wrote == "true" and not removes
    unclear, has_columns = fills and cut == "true", fills and columns == "true"
    return str(iri), Version(run, str(target), prior, fills, unclear, has_columns)


def _is_helper(name: str | None, helper: str | None) -> bool:
    """Whether an object is a helper, by its name or its mark in the graph."""
    return helper == "true" or is_named(name or "", HELPERS)


def _is_routine(domain: str) -> bool:
    """Whether an object of the kind holds no data: a function, a procedure, a sequence."""
    return domain.upper().endswith(("FUNCTION", "PROCEDURE", "SEQUENCE"))
