"""The sources of the columns of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.objects import routine
from exporter.openlineage.values import Json, nothing_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from exporter.openlineage.gathered import Source
    from exporter.queries.facts import Derivation

_DIRECT: Final = {"type": "DIRECT"}
_BASE: Final = {"type": "DIRECT", "description": "base source"}
_IS_DIRECT: Final = [_DIRECT]
_IS_BASE: Final = [_BASE]
_IS_BOTH: Final = [_DIRECT, _BASE]


def sources_of(keys: Collection[str], by_key: Mapping[str, list[Source]]) -> list[Source]:
    """The sources of the columns of all objects that are the same dataset, sorted."""
    told = [by_key[key] for key in keys if key in by_key]
    return told[0] if len(told) == 1 else sorted(source for one in told for source in one)


def by_column(sources: Iterable[Source]) -> dict[str, list[Json]]:
    """Column -> its sources, none twice, each as direct, base, or both; ``sources`` have to be sorted."""
    found: dict[str, dict[tuple[str, str, str], Json]] = {}
    for column, namespace, name, field, is_base in sources:
        fields = found.setdefault(column, {})
        known = fields.get((namespace, name, field))
        if known is None:
            kind = _IS_BASE if is_base else _IS_DIRECT
            told = {"namespace": namespace, "name": name, "field": field, "transformations": kind}
            fields[namespace, name, field] = told
        elif is_base and known["transformations"] is _IS_DIRECT:
            known["transformations"] = _IS_BOTH
    return {column: list(fields.values()) for column, fields in found.items()}


def routines_by_column(keys: Collection[str], made_by: Mapping[str, list[Derivation]]) -> dict[str, list[Json]]:
    """Column -> the routines that made it, for the output that stands for the objects ``keys``."""
    found: dict[str, list[Json]] = {}
    for key in keys:
        for one in sorted(made_by.get(key, ()), key=_order):
            called = {**routine(one.source), "sourceType": one.source_type}
            found.setdefault(one.target_column, []).append(called)
    return found


def _order(one: Derivation) -> Any:
    thing = one.source
    told = (thing.name, thing.signature, thing.kind, thing.object_id, thing.data_type)
    return nothing_first((*told, one.source_type))
