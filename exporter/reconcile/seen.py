"""What rows show of the objects that a declaration names: which queries filled them, from which objects and columns.

A query fills an object from all that it read (``prov:wasDerivedFrom`` of the version that it wrote), and a column from
those that the row lists as its sources. What only filters is read, and no column comes from it.

Helpers are seen through: where a query reads a table that a load fills, reads and drops (dbt's ``__dbt_tmp``), what
filled that table stands in its place; where it reads such a view, the objects behind it do.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.questions import select
from exporter.input.times import parse_time
from exporter.model.identifiers import match_name
from exporter.openlineage.helpers import is_named
from exporter.openlineage.settings import HELPERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyoxigraph import Store

    from exporter.ask.answers import Row

_PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
_REMOVING: Final = ("DELETE", "TRUNCATE")
"""The beginnings of ``query_type`` of queries that fill nothing."""
_AT_ONCE: Final = 200
"""Objects in one question."""
_PERIOD: Final = f"""{_PREFIXES}SELECT (MIN(?time) AS ?first) (MAX(?time) AS ?last) WHERE {{
  ?query prov:startedAtTime ?time ; prov:wasAssociatedWith ?user .
}}"""
_WRITES: Final = f"""{_PREFIXES}SELECT ?target ?version ?prior ?query ?id ?count ?time ?type
  ?wrote ?columns ?cut ?cloned
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
  BIND(EXISTS {{ ?query ah:incomplete ?part }} AS ?cut)
  BIND(EXISTS {{ ?query ah:hasChange ?change . ?change ah:changedObject ?target ; ah:madeFromName ?from }} AS ?cloned)
}}"""
_READS: Final = f"""{_PREFIXES}SELECT DISTINCT ?version ?read ?source ?domain ?name ?helper ?direct ?base WHERE {{
  VALUES ?target {{ @objects@ }}
  ?version prov:specializationOf ?target ; prov:wasGeneratedBy ?query ; prov:wasDerivedFrom ?read .
  ?read prov:specializationOf ?source .
  OPTIONAL {{ ?source ah:domain ?domain }}
  OPTIONAL {{ ?source rdfs:label ?name }}
  OPTIONAL {{ ?source ah:isHelper ?helper }}
  BIND(EXISTS {{
    ?query (prov:qualifiedUsage|ah:accessPattern) ?access .
    ?access ah:accessType "DIRECT" ; ah:accessedObject ?source
  }} AS ?direct)
  BIND(EXISTS {{ ?version ah:derivedFromBase ?read }} AS ?base)
}}"""
_COLUMNS: Final = f"""{_PREFIXES}SELECT DISTINCT ?query ?target ?target_column ?source ?source_column ?kind WHERE {{
  VALUES ?target {{ @objects@ }}
  ?column ah:columnOf ?target ; ah:columnName ?target_column .
  ?version prov:specializationOf ?column ; prov:wasGeneratedBy ?query ;
    ^ah:targetColumnVersion|ah:derivationPattern ?derivation .
  ?derivation ah:sourceObject ?source ; ah:sourceType ?kind ; ah:sourceColumn/ah:columnName ?source_column .
}}"""
_READ_COLUMNS: Final = f"""{_PREFIXES}SELECT DISTINCT ?query ?source ?column WHERE {{
  VALUES ?target {{ @objects@ }}
  ?version prov:specializationOf ?target ; prov:wasGeneratedBy ?query .
  ?query (prov:qualifiedUsage|ah:accessPattern) ?access .
  ?access ah:accessedObject ?source ; ah:readColumn/ah:columnName ?column .
}}"""
_VIEWS: Final = f"""{_PREFIXES}SELECT DISTINCT ?view ?source ?name ?view_column ?column ?evidence ?id ?first ?last
WHERE {{
  VALUES ?view {{ @objects@ }}
  ?behind ah:view ?view ; ah:sourceObject ?source ; ah:evidence ?evidence ; ah:firstSeen ?first ; ah:lastSeen ?last .
  OPTIONAL {{ ?source rdfs:label ?name }}
  OPTIONAL {{ ?behind ah:viewColumn/ah:columnName ?view_column }}
  OPTIONAL {{ ?behind ah:sourceColumn/ah:columnName ?column }}
  OPTIONAL {{ ?behind ah:evidenceQueryId ?id }}
}}"""
_CUT: Final = f"""{_PREFIXES}SELECT DISTINCT ?query ?time ?source WHERE {{
  ?query ah:incomplete ?part ; prov:startedAtTime ?time .
  FILTER(STRSTARTS(?part, "objects_modified"))
  FILTER NOT EXISTS {{ ?query ah:madeVersion ?made }}
  OPTIONAL {{ ?query (prov:qualifiedUsage|ah:accessPattern)/ah:accessedObject ?source }}
}}"""
_LEAVING: Final = f"""{_PREFIXES}SELECT DISTINCT ?source ?target WHERE {{
  VALUES ?source {{ @objects@ }}
  ?read prov:specializationOf ?source . ?version prov:wasDerivedFrom ?read ; prov:specializationOf ?target .
  FILTER(?source != ?target)
}}"""


class Run(NamedTuple):
    """A query, or the calls that a row of AGGREGATE_ACCESS_HISTORY stands for, which have no ``ident``. ``time``: of
    its start, in microseconds since 1970 (UTC).
    """

    time: int
    iri: str
    ident: str | None
    calls: int


@dataclass
class Fill:
    """A query filled an object. ``unclear``: its row does not say everything that it read or wrote."""

    run: Run
    unclear: bool
    has_columns: bool = False


class Source(NamedTuple):
    """An object that a query filled another one from. ``is_direct``: the statement names it, in place of its being
    behind a view that the statement names. ``through``: the name of the helper that was seen through.
    """

    iri: str
    name: str
    is_direct: bool
    through: str | None = None


ColumnPair = tuple[str, str, str, str]
"""The IRI of a source, its column, the IRI of a target, its column; columns in the form in which names are compared."""


class Behind(NamedTuple):
    """An object behind a view. ``view_column``, ``column``: None for what is about whole objects; ``is_certain``: as
    ``ah:evidence``.
    """

    iri: str
    name: str
    view_column: str | None
    column: str | None
    is_certain: bool
    ident: str | None
    first: int
    last: int


@dataclass
class Seen:
    """What the rows of a period show. ``since``, ``until``: microseconds since 1970 (UTC), the end excluded; ``first``,
    ``last``: when the first and last query of the record started, None where it has none.
    """

    store: Store
    since: int | None = None
    until: int | None = None
    first: int | None = None
    last: int | None = None
    names: dict[str, str] = field(default_factory=dict)
    fills: dict[str, list[Fill]] = field(default_factory=lambda: defaultdict(list))
    pairs: dict[tuple[str, str], dict[str, Run]] = field(default_factory=lambda: defaultdict(dict))
    """(source, target) -> the queries."""
    direct: dict[tuple[str, str], Source] = field(default_factory=dict)
    """The pairs whose source a statement names."""
    columns: dict[ColumnPair, dict[str, Run]] = field(default_factory=lambda: defaultdict(dict))
    column_pairs: set[tuple[str, str]] = field(default_factory=set)
    """The pairs of objects of which data went from a column to a column."""
    direct_columns: set[ColumnPair] = field(default_factory=set)
    read: dict[tuple[str, str, str], dict[str, Run]] = field(default_factory=lambda: defaultdict(dict))
    """(source, its column, target) -> the queries that filled the target and read the column."""
    behind: dict[str, list[Behind]] = field(default_factory=lambda: defaultdict(list))
    cut: dict[str, frozenset[str]] = field(default_factory=dict)
    """The queries of which no row shows what they wrote -> what they read, as far as rows show it."""

    def __post_init__(self) -> None:
        """Looks up the period of the record."""
        for first, last in select(self.store, _PERIOD, "the period").rows:
            self.first, self.last = (parse_time(one) if one else None for one in (first, last))

    def has(self, time: int) -> bool:
        """Whether a time is in the period that was asked for."""
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)

    @property
    def begin(self) -> int | None:
        """When the first query started that can be in the period."""
        return max((one for one in (self.first, self.since) if one is not None), default=None)

    @property
    def end(self) -> int | None:
        """When the last query started that can be in the period."""
        ends = [self.last, None if self.until is None else self.until - 1]
        return min((one for one in ends if one is not None), default=None)

    def look(self, objects: Collection[str]) -> None:
        """Adds what rows show of how the objects were filled."""
        _Filling(self, sorted(objects)).add()
        for row in self.rows(_VIEWS, {*objects, *(source for source, _ in self.direct)}):
            view, source, name, view_column, column, evidence, ident, first, last = row
            begin, end = parse_time(str(first)) or 0, parse_time(str(last)) or 0
            if (self.since is not None and end < self.since) or (self.until is not None and begin >= self.until):
                continue
            of_view, of_source = (match_name(one) if one else None for one in (view_column, column))
            self.names[str(source)] = name or str(source)
            self.behind[str(view)].append(
                Behind(
                    str(source), self.names[str(source)], of_view, of_source, evidence == "CERTAIN", ident, begin, end
                )
            )
        for query, time, source in select(self.store, _CUT, "what was cut").rows:
            if self.has(parse_time(str(time)) or 0):
                self.cut[str(query)] = self.cut.get(str(query), frozenset()) | ({source} if source else frozenset())

    def leaving(self, objects: Collection[str]) -> set[tuple[str, str]]:
        """The pairs of one of the objects and any other that was filled from it, at any time."""
        return {(str(source), str(target)) for source, target in self.rows(_LEAVING, objects)}

    def rows(self, question: str, objects: Iterable[str]) -> Iterator[Row]:
        """The answers of a question about objects, some of them at a time."""
        every = sorted(objects)
        for begin in range(0, len(every), _AT_ONCE):
            named = " ".join(f"<{one}>" for one in every[begin : begin + _AT_ONCE])
            yield from select(self.store, question.replace("@objects@", named), "what rows show").rows


@dataclass
class _Version:
    """A version of an object: the query that made it, what it was made from, and the version before."""

    run: Run
    target: str
    prior: str | None
    sources: list[tuple[str, Source, bool]] = field(default_factory=list)
    """(the version that was read, its object, whether rows have it as a base object)."""


class _Filling:
    """How some objects were filled; helpers that they were filled from are looked up as well."""

    def __init__(self, seen: Seen, objects: list[str]) -> None:
        self._seen, self._objects = seen, objects
        self._versions = dict[str, _Version]()
        self._columns: dict[tuple[str, str], list[tuple[str, str, str, bool]]] = defaultdict(list)
        """(query, target) -> (target's column, source, its column, whether it is direct)."""
        self._helpers, self._looked = set[str](), set[str]()

    def add(self) -> None:
        seen, waiting = self._seen, set(self._objects)
        filling = [self._read(waiting)]
        while waiting := self._helpers - self._looked:
            self._read(waiting)
        for iri, made in self._versions.items():
            if iri not in filling[0] or not seen.has(made.run.time):
                continue
            self._add_pairs(made)
            self._add_columns(made)
        self._add_read_columns()

    def _read(self, objects: set[str]) -> dict[str, Fill]:
        """Reads how objects were filled; the versions that a query filled with data."""
        seen, fills = self._seen, dict[str, Fill]()
        self._looked |= objects
        for row in seen.rows(_WRITES, objects):
            target, version, prior, query, ident, count, time, kind, wrote, columns, cut, cloned = row
            run = Run(parse_time(str(time)) or 0, str(query), ident, int(count or 1))
            self._versions[str(version)] = _Version(run, str(target), prior)
            removes = (kind or "").upper().startswith(_REMOVING) and columns != "true"
            if (wrote == "true" and not removes) or cloned == "true":
                fills[str(version)] = Fill(run, "true" in (cut, cloned), has_columns=columns == "true")
        for row in seen.rows(_READS, objects):
            version, read, source = (str(one) for one in row[:3])
            kind, label, helper, direct, base = row[3:]
            if _is_routine(kind or ""):
                continue
            name = seen.names[source] = label or source
            made = self._versions[version]
            made.sources.append((read, Source(source, name, direct == "true"), base == "true"))
            fills.setdefault(version, Fill(made.run, unclear=False))
            if (helper == "true" or is_named(name, HELPERS)) and source not in self._objects:
                self._helpers.add(source)
        for row in seen.rows(_COLUMNS, objects):
            query, target, target_column, source, source_column, type_ = map(str, row)
            self._columns[query, target].append(
                (match_name(target_column), source, match_name(source_column), type_ == "DIRECT")
            )
        for version, fill in fills.items():
            made = self._versions[version]
            # Without sources, columns that were written show values (INSERT … VALUES); without these, nothing is known.
            fill.unclear = fill.unclear or not (made.sources or fill.has_columns)
            fill.has_columns = (fill.run.iri, made.target) in self._columns
            if seen.has(fill.run.time):
                seen.fills[made.target].append(fill)
        return fills

    def _add_pairs(self, made: _Version) -> None:
        for source in self._sources(made, set()):
            pair = source.iri, made.target
            self._seen.pairs[pair][made.run.iri] = made.run
            if source.is_direct:
                self._seen.direct.setdefault(pair, source)

    def _sources(self, made: _Version, known: set[str]) -> Iterator[Source]:
        """What a version was made from, through helpers."""
        is_named_at_all = any(source.is_direct for _, source, _ in made.sources)
        for read, source, is_base in made.sources:
            if source.iri not in self._helpers:
                yield source if is_named_at_all else source._replace(is_direct=True)
                continue
            filled = [one for one in self._chain(read) if one not in known]
            known.update(filled)
            found = [one for each in filled for one in self._sources(self._versions[each], known)]
            if not found and not is_base:  # a view: what is behind it is among the base objects of the same query
                found = [one for _, one, base in made.sources if base and not one.is_direct]
            yield from (
                one._replace(through=source.name, is_direct=source.is_direct) for one in found if one.iri != made.target
            )

    def _chain(self, version: str | None) -> Iterator[str]:
        """A version and those before it that are on record."""
        while version in self._versions:
            yield version
            version = self._versions[version].prior

    def _add_columns(self, made: _Version) -> None:
        read = {source.iri: version for version, source, _ in made.sources}
        for target_column, source, source_column, is_direct in self._columns[made.run.iri, made.target]:
            for iri, column in self._column_sources(source, source_column, read.get(source), set()):
                pair = iri, column, made.target, target_column
                self._seen.columns[pair][made.run.iri] = made.run
                self._seen.column_pairs.add((iri, made.target))
                if is_direct:
                    self._seen.direct_columns.add(pair)

    def _column_sources(
        self, source: str, column: str, version: str | None, known: set[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        if source not in self._helpers:
            yield source, column
            return
        for one in self._chain(version):
            made = self._versions[one]
            if (one, column) in known:
                continue
            known.add((one, column))
            read = {each.iri: before for before, each, _ in made.sources}
            for target_column, before, before_column, _ in self._columns[made.run.iri, source]:
                if target_column == column:
                    yield from self._column_sources(before, before_column, read.get(before), known)

    def _add_read_columns(self) -> None:
        by_query = defaultdict[str, list[_Version]](list)
        for made in self._versions.values():
            if made.target in self._objects and self._seen.has(made.run.time):
                by_query[made.run.iri].append(made)
        for query, source, column in self._seen.rows(_READ_COLUMNS, self._objects):
            for made in by_query.get(str(query), ()):
                self._seen.read[str(source), match_name(str(column)), made.target][made.run.iri] = made.run


def _is_routine(domain: str) -> bool:
    """Whether an object of the kind holds no data: a function, a procedure, a sequence."""
    return domain.upper().endswith(("FUNCTION", "PROCEDURE", "SEQUENCE"))
