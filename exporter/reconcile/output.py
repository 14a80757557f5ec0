"""The comparison as JSON for programs and as a table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exporter.ask.answers import Answer, render
from exporter.input.times import iso
from exporter.reconcile.edges import CLASSES
from exporter.reconcile.meaning import Line
from exporter.system.terminal import in_json, visible

if TYPE_CHECKING:
    from exporter.reconcile.comparison import Compared
    from exporter.reconcile.edges import ComparedEdge, End

_MEANING = {
    "verified": "declared and seen",
    "undeclared": "seen, and not declared",
    "phantom": "declared, and never seen",
    "unknown": "declared, and cannot be known",
}


def as_json(compared: Compared) -> str:
    """The result as one JSON object (docs/interface.md)."""
    seen = compared.seen
    whole = {
        "period": {"first": _time(seen.begin), "last": _time(seen.end)},
        "declarations": [
            {"name": one.name, "form": one.form, "sha256": one.digest, "at": _time(one.at)}
            for one in compared.declarations
        ],
        "counts": compared.counts,
        "edges": [_edge(one, compared) for one in compared.edges],
        "notes": compared.notes,
    }
    return f"{in_json(json.dumps(whole, ensure_ascii=False, indent=1))}\n"


def _edge(one: ComparedEdge, compared: Compared) -> dict[str, Any]:
    first, last = (one.runs[0], one.runs[-1]) if one.runs else (None, None)
    return {
        "class": one.verdict,
        "source": _end(one.source),
        "target": _end(one.target),
        "reason": one.reason,
        "why": one.why,
        "by": one.by,
        "via": list(one.via),
        "queries": one.queries,
        "first": _time(first and first.time),
        "first_query_id": first and first.ident,
        "last": _time(last and last.time),
        "last_query_id": last and last.ident,
        "declared_by": [compared.declarations[number].name for number in sorted(one.declared)],
        "declared_first": _time(one.first),
        "declared_last": _time(one.last),
        "jobs": sorted(one.jobs),
    }


def _end(end: End) -> dict[str, str | None]:
    iri = end.meaning.iri if isinstance(end.meaning, Line) else None
    namespace = end.dataset.namespace or None if end.dataset else None
    return {"name": end.name, "namespace": namespace, "column": end.column, "object": end.now, "iri": iri}


def as_text(compared: Compared) -> str:
    """The counts, and a table of the edges: first what differs."""
    counts, period = compared.counts, compared.seen
    lines = [f"  {name:<12}{counts[name]:>7,}   {_MEANING[name]}" for name in CLASSES]
    lines += [
        f"  {'declared by':<12}{'':>7}   {visible(one.name)}, {one.form}, sha256 {one.digest[:12]}"
        for one in compared.declarations
    ]
    begin, end = (_time(time) or "-" for time in (period.begin, period.end))
    lines.append(f"  {'period':<12}{'':>7}   {begin} to {end}, of the queries that are compared")
    columns = ("class", "target", "source", "queries", "last", "query_id", "reason")
    rows: list[tuple[str | None, ...]] = [
        (
            one.verdict,
            _named(one.target),
            _named(one.source),
            str(one.queries) if one.runs else None,
            _time(one.runs[-1].time) if one.runs else None,
            one.runs[-1].ident or one.runs[0].ident if one.runs else None,
            one.reason,
        )
        for one in compared.edges
    ]
    reasons = dict[str, list[str]]()
    for one in compared.edges:
        if one.why:
            reasons.setdefault(str(one.reason), []).append(one.why)
    whys = [f"{reason}: {found[0]}{_more(len(found) - 1)}" for reason, found in reasons.items()]
    return (
        "".join(f"{line}\n" for line in [*lines, ""])
        + render(Answer(columns, rows, []), "table")
        + "".join(f"{visible(why)}\n" for why in (["", *whys] if whys else []))
    )


def _more(others: int) -> str:
    return f" (and {others:,} more; --json has all)" if others else ""


def _named(end: End) -> str:
    """The name with its column; and the present one, where that is another one."""
    column = f".{end.column}" if end.column else ""
    now = f" (now {end.now})" if end.now and end.dataset and end.dataset.is_of_snowflake and end.now != end.name else ""
    return f"{end.name}{column}{now}"


def _time(micros: int | None) -> str | None:
    return None if micros is None else iso(micros)
