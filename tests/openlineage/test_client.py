"""The OpenLineage client as a reader: it reads each event and facet of the specification and writes it unchanged."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from functools import cache
from typing import Any, Final

import attr
import pytest
from openlineage.client import generated
from openlineage.client.serde import Serde

from exporter.openlineage.facets import EVENT_SCHEMA, OWN, SCHEMAS
from tests.openlineage import told


def _classes() -> dict[str, type]:
    """Schema's URL -> class."""
    modules = [
        importlib.import_module(f"{generated.__name__}.{one.name}") for one in pkgutil.iter_modules(generated.__path__)
    ]
    found = [
        one for module in modules for one in vars(module).values() if hasattr(one, "_get_schema") and attr.has(one)
    ]
    return {typing.cast("Any", one)._get_schema(): one for one in found}


CLASSES: Final = _classes()


def build(kind: Any, value: Any) -> Any:
    """A value of the JSON as the type that the client's class gives to it; facets that are ours stay as they are."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _first_that_takes([one for one in inner if one is not types.NoneType], value)
    if origin is typing.Literal:
        if value not in inner:
            raise TypeError(f"{value!r} is none of {inner}")
        return value
    if origin is list:
        return [build(inner[0], one) for one in value]
    if origin is dict:
        return {key: build(inner[1], one) for key, one in value.items()}
    if isinstance(value, dict) and "_schemaURL" in value:
        return value if value["_schemaURL"].startswith(OWN) else _instance(CLASSES[value["_schemaURL"]], value)
    return _instance(kind, value) if attr.has(kind) else kind(value)


def _instance(kind: Any, value: dict[str, Any]) -> Any:
    """An instance of one of the client's classes, which set the URL of their schema themselves."""
    hints, known = _fields(kind)
    if set(value) - set(known):
        raise TypeError(f"{kind.__name__} has no {sorted(set(value) - set(known))}")
    given = {known[name] for name in value if known[name].init}
    return kind(**{one.alias: build(hints[one.name], value[one.name]) for one in given})


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The types of a class's fields, and the fields, by name."""
    return typing.get_type_hints(kind), {one.name: one for one in attr.fields(kind)}


def _first_that_takes(kinds: list[Any], value: Any) -> Any:
    for kind in kinds[:-1]:
        try:
            return build(kind, value)
        except TypeError:
            continue
    return build(kinds[-1], value)


def test_every_event_and_facet_becomes_its_class_and_comes_back() -> None:
    seen = set()
    for event in told.events() + told.events_with_history():
        built = build(CLASSES[event["schemaURL"]], event)
        assert _without_added(Serde.to_dict(built), event) == event
        urls = {facet["_schemaURL"] for _, facet in told.facets(event)}
        seen |= {url for url in urls if not url.startswith(OWN)}
    assert seen == {url for url in SCHEMAS.values() if not url.startswith(OWN)}


def _without_added(back: Any, given: Any) -> Any:
    """What came back, without the empty lists and objects that the client's classes have for what is not given."""
    if isinstance(back, dict) and isinstance(given, dict):
        kept = {key: one for key, one in back.items() if key in given or one not in ([], {})}
        return {key: _without_added(one, given.get(key)) for key, one in kept.items()}
    if isinstance(back, list) and isinstance(given, list) and len(back) == len(given):
        return [_without_added(one, other) for one, other in zip(back, given, strict=True)]
    return back


def test_what_the_client_does_not_know_is_found() -> None:
    event = {"eventTime": "2024-01-01T00:00:00Z", "producer": "urn:me", "job": {"namespace": "n", "name": "j"}}
    run = CLASSES[f"{EVENT_SCHEMA}/RunEvent"]
    whole = {**event, "run": {"runId": "eebd5ee2-26f4-5bb9-a22f-02dbe0bd6c76"}}
    assert build(run, whole).job.name == "j"
    for wrong in (
        {**whole, "eventTime": "2024-01-01"},
        {**whole, "run": {"runId": "1"}},
        {**whole, "eventType": "END"},
    ):
        with pytest.raises(ValueError, match=r"time|UUID|EventType"):
            build(run, wrong)
    with pytest.raises(TypeError, match="no \\['jobs'\\]"):
        build(run, {**whole, "jobs": []})
