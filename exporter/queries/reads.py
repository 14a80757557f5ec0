"""The reads of a query that only reads, by object. They are equal for all runs of its statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.queries.facts import Access, Content, PolicyReference
How = frozenset[tuple[str, str | None]]
"""The ways in which a column was read (DIRECT, BASE, PROVIDER_BASE), each with the object's name in the row."""
Rule = tuple[str, str, str | None, bool]
"""A policy by its key, kind and name, and whether it is a provider's."""


def only_reads(content: Content) -> bool:
    """Whether a statement read objects and did nothing else. A truncated row may hide more effects, and a statement
    that ran a procedure has child queries, so both are excluded.
    """
    does_more = content.writes or content.changes or content.derivations or content.incomplete
    return bool(content.accesses) and not does_more and all(one.thing.kind != "procedure" for one in content.accesses)


class Alike(NamedTuple):
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


def reads(content: Content) -> list[Alike]:
    """The reads of a statement, sorted by object."""
    accesses: dict[str, list[Access]] = {}
    for access in content.accesses:
        accesses.setdefault(access.thing.key, []).append(access)
    policies: dict[str, list[PolicyReference]] = {}
    for reference in content.policies:
        policies.setdefault(reference.protected.key, []).append(reference)
    keys = sorted(accesses.keys() | policies.keys())
    return [one for key in keys for one in _of_object(key, accesses.get(key, []), policies.get(key, []))]


def accessed(content: Content) -> list[Alike]:
    """The accesses of a statement, sorted by object. Those of one object that list it under the same name and with the
    same columns are one, with several ways; nothing else is merged, so each access can be told.
    """
    ways: dict[tuple[str, str | None, tuple[str, ...]], set[str]] = {}
    for access in content.accesses:
        columns = tuple(sorted({column.name for column in access.columns}))
        ways.setdefault((access.thing.key, access.thing.name, columns), set()).add(access.access)
    found = (
        Alike(key, () if name is None else (name,), tuple(sorted(each)), columns)
        for (key, name, columns), each in ways.items()
    )
    return sorted(found)


def _of_object(key: str, accesses: list[Access], policies: list[PolicyReference]) -> Iterator[Alike]:
    on_object = [one for one in policies if one.column_name is None]
    found: dict[tuple[How, frozenset[Rule]], list[tuple[str, list[PolicyReference]]]] = {}
    columns = _columns(accesses)
    for column, how in columns.items():
        on_column = [one for one in policies if one.column_name == column]
        rules = frozenset((one.policy_key, one.policy_kind, one.policy_name, one.provider) for one in on_column)
        found.setdefault((how, rules), []).append((column, on_column))
    for (how, _), alike in found.items():
        enforced = [*on_object, *(one for _, on_column in alike for one in on_column)]
        yield _alike(key, how, [column for column, _ in alike], enforced)
    bare = frozenset((one.access, one.thing.name) for one in accesses if not one.columns)
    if bare:
        yield _alike(key, bare, [], on_object)
    others = [one for one in policies if one.column_name is not None and one.column_name not in columns]
    if others or (on_object and not accesses):
        yield _alike(key, frozenset(), [], [*others, *(() if accesses else on_object)])


def _columns(accesses: Iterable[Access]) -> dict[str, How]:
    """Column name -> the ways in which it was read."""
    found: dict[str, set[tuple[str, str | None]]] = {}
    for access in accesses:
        for column in access.columns:
            found.setdefault(column.name, set()).add((access.access, access.thing.name))
    return {column: frozenset(how) for column, how in found.items()}


def _alike(key: str, how: How, columns: list[str], policies: list[PolicyReference]) -> Alike:
    names = {name for _, name in how if name is not None}
    ways = {way for way, _ in how}
    return Alike(key, tuple(sorted(names)), tuple(sorted(ways)), tuple(sorted(set(columns))), tuple(policies))
