"""Splits an event into several that add up to it: halves, or the parts that concern some of its inputs."""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]
TWICE_TOLD: Final = "lineage"
"""A facet that repeats the column lineage of ``columnLineage``."""


def halves(event: Json) -> tuple[Json, ...]:
    """Two events that add up to this one; empty where it cannot be split."""
    inputs, outputs = event.get("inputs") or [], event.get("outputs") or []
    if len(outputs) > 1:
        return tuple({**event, "outputs": part} for part in _two(outputs))
    if len(inputs) > 1:
        return tuple(with_inputs(event, part) for part in _two(inputs))
    if not outputs:
        return ()
    fields = list(((outputs[0].get("facets") or {}).get("columnLineage") or {}).get("fields") or {})
    if len(fields) < 2:
        return ()
    return tuple({**event, "outputs": [_with_fields(outputs[0], set(part))]} for part in _two(fields))


def _two(things: list[Any]) -> tuple[list[Any], list[Any]]:
    middle = len(things) // 2
    return things[:middle], things[middle:]


def with_inputs(event: Json, inputs: list[Json]) -> Json:
    """The event with these inputs only, and with the column lineage from them."""
    kept = {(one["namespace"], one["name"]) for one in inputs}

    def narrow(output: Json) -> Json:
        facets = dict(output.get("facets") or {})
        for name, key in (("columnLineage", "inputFields"), (TWICE_TOLD, "inputs")):
            if name in facets:
                facets[name] = _of_sources(facets[name], key, kept)
        has_columns = bool(facets.get("columnLineage", {}).get("fields"))
        return {**output, "facets": facets if has_columns else without_facet(facets, "columnLineage")}

    return {**event, "inputs": inputs, "outputs": [narrow(one) for one in event["outputs"]]}


def _of_sources(facet: Json, key: str, kept: set[tuple[str, str]]) -> Json:
    """A facet of sources by column, with the sources in these datasets only."""

    def own(sources: list[Json]) -> list[Json]:
        return [one for one in sources if (one.get("namespace"), one.get("name")) in kept]

    fields = {column: {**told, key: own(told[key])} for column, told in (facet.get("fields") or {}).items()}
    narrowed = {**facet, "fields": {column: told for column, told in fields.items() if told[key]}}
    for name in ("inputs", "dataset"):
        if name in facet:
            narrowed[name] = own(facet[name])
    return narrowed if narrowed["fields"] or "fields" in facet else without_facet(narrowed, "fields")


def _with_fields(output: Json, columns: set[str]) -> Json:
    facets = dict(output["facets"])
    for name in ("columnLineage", TWICE_TOLD):
        if "fields" in facets.get(name, {}):
            kept = {column: told for column, told in facets[name]["fields"].items() if column in columns}
            facets[name] = {**facets[name], "fields": kept}
    return {**output, "facets": facets}


def without_facet(facets: Json, name: str) -> Json:
    """The facets without one of them."""
    return {key: value for key, value in facets.items() if key != name}
