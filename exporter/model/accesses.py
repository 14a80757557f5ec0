"""What a query accessed: objects and columns read and written, joins, derivations, and policies that were enforced.

A derivation has the source columns of a written column, direct and base ones, and the functions that computed it. The
reads of a query that only reads are also given by object: they are equal for all runs of its statement.

Sources: view, "direct_objects_accessed", "base_objects_accessed", "objects_modified", "directSources", "baseSources",
"policies_referenced", "Usage Notes: Column Lineage"; guide, "Column lineage", "Joins", "Masking and row access policy
references".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple

from exporter.input.row import DirectDocument, GuardedDocument, ReadDocument, SourcedColumnDocument, Text, text
from exporter.model.facts import Access, Content, Derivation, Join, ObjectReference, PolicyReference
from exporter.model.identifiers import normal_domain, usable_id
from exporter.model.objects import column_id, key_of, known_columns, known_text, objects_of_array, partner, source

ReadDocuments = Iterable[ReadDocument | None] | None


def derivations(
    target: ObjectReference, columns: Iterable[SourcedColumnDocument | None] | None
) -> Iterator[Derivation]:
    """The derivations of an object's columns. Columns without a name and sources that name nothing are left out."""
    for column in columns or ():
        name = None if column is None else known_text(column.column_name)
        if column is None or name is None:
            continue
        direct = chain(column.direct_sources or (), column.direct_source_columns or ())
        base = chain(column.base_sources or (), column.base_source_columns or ())
        for kind, documents in (("DIRECT", direct), ("BASE", base)):
            for document in documents:
                thing = None if document is None else source(document)
                if document is not None and thing is not None:
                    yield Derivation(target.key, target.name, name, kind, thing, known_text(document.column_name))


def accesses(direct: ReadDocuments, base: ReadDocuments, provider_base: ReadDocuments) -> Iterator[Access]:
    """The objects that were read; repetitions in the row are kept."""
    for access, documents in (("DIRECT", direct), ("BASE", base), ("PROVIDER_BASE", provider_base)):
        for read_document, thing in objects_of_array(documents):
            yield Access(access, thing, known_columns(read_document.columns))


def joins(direct: Iterable[DirectDocument | None] | None) -> Iterator[Join]:
    """The joins of objects that the query names itself; repetitions in the row are kept."""
    for direct_document, left in objects_of_array(direct):
        for document in direct_document.join_objects or ():
            side = document and (document.node or document.join_object)
            right = partner(side) if side else None
            if document is not None and right is not None:
                kind = known_text(document.type if document.join_type is None else document.join_type)
                yield Join(left, None if kind is None else kind.upper(), right)


def policies(documents: Iterable[GuardedDocument | None] | None, *, provider: bool) -> Iterator[PolicyReference]:
    """The policies enforced on each object and its columns; repetitions in the row are kept. ``provider``: they belong
    to the account that shares the object.
    """
    for guarded_document, thing in objects_of_array(documents):
        columns = [
            (known_text(column.column_name), column_id(column.column_id), column.policies)
            for column in guarded_document.columns or ()
            if column is not None
        ]
        for column_name, ident, enforced in [(None, None, guarded_document.policies), *columns]:
            for document in enforced or ():
                kind = policy_kind(None if document is None else document.policy_kind)
                key = None if document is None else key_of(kind, document.policy_id, document.policy_name)
                if document is not None and key is not None:
                    number, name = usable_id(text(document.policy_id)), known_text(document.policy_name)
                    yield PolicyReference(thing, column_name, ident, key, kind, number, name, provider)


def policy_kind(kind: Text) -> str:
    """``MASKING_POLICY``, ``ROW_ACCESS_POLICY`` … as in the view; ``POLICY`` if the row gives no kind."""
    return (normal_domain(text(kind)) or "POLICY").replace(" ", "_")


Ways = frozenset[tuple[str, str | None]]
"""The ways in which a column was read (DIRECT, BASE, PROVIDER_BASE), each with the object's name in the row."""
_policy_of: Final = attrgetter("policy_key", "policy_kind", "policy_name", "provider")
"""What a policy is, wherever it is enforced."""


def only_reads(content: Content) -> bool:
    """Whether a statement read objects and did nothing else. A truncated row may hide more effects, and a statement
    that ran a procedure has child queries, so both are excluded.
    """
    does_more = content.writes or content.changes or content.derivations or content.incomplete
    is_call = any(access.thing.kind == "procedure" for access in content.accesses)
    return bool(content.accesses) and not does_more and not is_call


class ReadGroup(NamedTuple):
    """Columns of an object that a statement read in the same ways and with the same policies. Each column that was read
    is in exactly one group.

    ``names``: the object's names in the row. ``ways``: DIRECT, BASE, PROVIDER_BASE; empty for an object or column that
    a policy protects but that is not listed as read. ``columns``: their names; empty if the row lists none. All three
    are sorted. ``policies``: those enforced on these columns or on the whole object.
    """

    object_key: str
    names: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    policies: tuple[PolicyReference, ...] = ()


def read_groups(content: Content) -> list[ReadGroup]:
    """The reads of a statement, sorted by object."""
    accesses: dict[str, list[Access]] = defaultdict(list)
    for access in content.accesses:
        accesses[access.thing.key].append(access)
    policies: dict[str, list[PolicyReference]] = defaultdict(list)
    for reference in content.policies:
        policies[reference.protected.key].append(reference)
    keys = sorted(accesses.keys() | policies.keys())
    return [alike for key in keys for alike in _of_object(key, accesses[key], policies[key])]


def access_groups(content: Content) -> list[ReadGroup]:
    """The accesses of a statement, sorted by object. Those of one object that list it under the same name and with the
    same columns are one, with several ways; nothing else is merged, so that each access can be found again.
    """
    ways: dict[tuple[str, tuple[str, ...], tuple[str, ...]], set[str]] = defaultdict(set)
    for access in content.accesses:
        names = () if access.thing.name is None else (access.thing.name,)
        columns = tuple(sorted({column.name for column in access.columns}))
        ways[access.thing.key, names, columns].add(access.access)
    return sorted(
        ReadGroup(key, names, tuple(sorted(arrays)), columns) for (key, names, columns), arrays in ways.items()
    )


def _of_object(key: str, accesses: list[Access], policies: list[PolicyReference]) -> Iterator[ReadGroup]:
    on: dict[str | None, list[PolicyReference]] = defaultdict(list)
    for policy in policies:
        on[policy.column_name].append(policy)
    on_object, by_column = on.pop(None, []), defaultdict[str, set[tuple[str, str | None]]](set)
    for access in accesses:
        for column in access.columns:
            by_column[column.name].add((access.access, access.thing.name))
    groups: dict[tuple[Ways, frozenset[Any]], list[str]] = defaultdict(list)
    for name, how in by_column.items():
        groups[frozenset(how), frozenset(map(_policy_of, on[name]))].append(name)
    for (how_alike, _), names in groups.items():
        yield _alike(key, how_alike, names, [*on_object, *(policy for name in names for policy in on[name])])
    bare = frozenset((access.access, access.thing.name) for access in accesses if not access.columns)
    if bare:
        yield _alike(key, bare, [], on_object)
    unread = [policy for policy in policies if policy.column_name is not None and policy.column_name not in by_column]
    if unread or (on_object and not accesses):
        yield _alike(key, frozenset(), [], [*unread, *(() if accesses else on_object)])


def _alike(key: str, how: Ways, columns: list[str], policies: list[PolicyReference]) -> ReadGroup:
    names = {name for _, name in how if name is not None}
    ways = {way for way, _ in how}
    return ReadGroup(key, tuple(sorted(names)), tuple(sorted(ways)), tuple(sorted(set(columns))), tuple(policies))
