"""The comparison as JSON for programs and as a table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exporter.ask.answers import Answer, render
from exporter.input.times import iso
from exporter.reconcile.edges import CLASSES
from exporter.reconcile.resolution import ObjectLine
from exporter.system.terminal import in_json, visible

if TYPE_CHECKING:
    from exporter.reconcile.comparison import Comparison
    from exporter.reconcile.edges import ComparedEdge, End

_MEANING = {
    "verified": "declared and seen",
    "undeclared": "seen, and not declared",
    "phantom": "declared, and never seen",
    "unknown": "declared, and cannot be known",
}


def as_json(comparison: Comparison) -> str:
    """The result as one JSON object (docs/interface.md)."""
    observed = comparison.observed
    document = {
        "period": {"first": _time(observed.begin), "last": _time(observed.end)},
        "declarations": [
            {
                "name": declaration.name,
                "form": declaration.form,
                "sha256": declaration.digest,
                "at": _time(declaration.at),
            }
            for declaration in comparison.declarations
        ],
        "counts": comparison.counts,
        "edges": [_edge(edge, comparison) for edge in comparison.edges],
        "notes": comparison.notes,
    }
    return f"{in_json(json.dumps(document, ensure_ascii=False, indent=1))}\n"


def _edge(edge: ComparedEdge, comparison: Comparison) -> dict[str, Any]:
    first, last = (edge.runs[0], edge.runs[-1]) if edge.runs else (None, None)
    return {
        "class": edge.verdict,
        "source": _end(edge.source),
        "target": _end(edge.target),
        "reason": edge.reason,
        "why": edge.why,
        "by": edge.by,
        "via": list(edge.via),
        "queries": edge.queries,
        "first": _time(first and first.time),
        "first_query_id": first and first.ident,
        "last": _time(last and last.time),
        "last_query_id": last and last.ident,
        "declared_by": [comparison.declarations[number].name for number in sorted(edge.declared)],
        "declared_first": _time(edge.first),
        "declared_last": _time(edge.last),
        "jobs": sorted(edge.jobs),
    }


def _end(end: End) -> dict[str, str | None]:
    iri = end.resolution.iri if isinstance(end.resolution, ObjectLine) else None
    namespace = end.dataset.namespace or None if end.dataset else None
    return {"name": end.name, "namespace": namespace, "column": end.column, "object": end.present_name, "iri": iri}


def as_text(comparison: Comparison) -> str:
    """The counts, and a table of the edges: first what differs."""
    counts, observed = comparison.counts, comparison.observed
    lines = [f"  {name:<12}{counts[name]:>7,}   {_MEANING[name]}" for name in CLASSES]
    lines += [
        f"  {'declared by':<12}{'':>7}   {visible(item.name)}, {item.form}, sha256 {item.digest[:12]}"
        for item in comparison.declarations
    ]
    begin, end = (_time(time) or "-" for time in (observed.begin, observed.end))
    lines.append(f"  {'period':<12}{'':>7}   {begin} to {end}, of the queries that are compared")
    columns = ("class", "target", "source", "queries", "last", "query_id", "reason")
    rows: list[tuple[str | None, ...]] = [
        (
            edge.verdict,
            _name_of_end(edge.target),
            _name_of_end(edge.source),
            str(edge.queries) if edge.runs else None,
            _time(edge.runs[-1].time) if edge.runs else None,
            edge.runs[-1].ident or edge.runs[0].ident if edge.runs else None,
            edge.reason,
        )
        for edge in comparison.edges
    ]
    reasons = dict[str, list[str]]()
    for edge in comparison.edges:
        if edge.why:
            reasons.setdefault(str(edge.reason), []).append(edge.why)
    whys = [f"{reason}: {whys_of[0]}{_more(len(whys_of) - 1)}" for reason, whys_of in reasons.items()]
    return (
        "".join(f"{line}\n" for line in [*lines, ""])
        + render(Answer(columns, rows, []), "table")
        + "".join(f"{visible(why)}\n" for why in (["", *whys] if whys else []))
    )


def _more(others: int) -> str:
    return f" (and {others:,} more; --json has all)" if others else ""


def _name_of_end(end: End) -> str:
    """The name with its column; and the present one, where that is another one."""
    column = f".{end.column}" if end.column else ""
    present = (
        f" (now {end.present_name})"
        if end.present_name and end.dataset and end.dataset.is_of_snowflake and end.present_name != end.name
        else ""
    )
    return f"{end.name}{column}{present}"


def _time(micros: int | None) -> str | None:
    return None if micros is None else iso(micros)
