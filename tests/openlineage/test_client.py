"""The client of OpenLineage as a reader: each facet of the specification becomes its class and comes back whole."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from typing import TYPE_CHECKING, Any, Final

import attr
from openlineage.client import generated
from openlineage.client.serde import Serde

from exporter.openlineage.facets import OWN
from tests.openlineage import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _classes() -> dict[str, type]:
    """Schema's URL -> class."""
    modules = [
        importlib.import_module(f"{generated.__name__}.{one.name}") for one in pkgutil.iter_modules(generated.__path__)
    ]
    found = [
        one for module in modules for one in vars(module).values() if hasattr(one, "_get_schema") and attr.has(one)
    ]
    return {one._get_schema(): one for one in found}


CLASSES: Final = _classes()


def build(kind: Any, value: Any) -> Any:
    """A value of the JSON as the type that the client's class gives to it."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _first_that_takes([one for one in inner if one is not type(None)], value)
    if origin is list:
        return [build(inner[0], one) for one in value]
    if origin is dict:
        return {key: build(inner[1], one) for key, one in value.items()}
    if not attr.has(kind):
        return value
    hints = typing.get_type_hints(kind)
    fields = {
        one.name: build(hints[one.name], value[one.name]) for one in attr.fields(kind) if one.init and one.name in value
    }
    unknown = set(value) - {one.name for one in attr.fields(kind)}
    if unknown:
        raise TypeError(f"{kind.__name__} has no {sorted(unknown)}")
    return kind(**fields)


def _first_that_takes(kinds: list[Any], value: Any) -> Any:
    for kind in kinds[:-1]:
        try:
            return build(kind, value)
        except TypeError:
            continue
    return build(kinds[-1], value)


def test_every_facet_of_the_specification_becomes_its_class_and_comes_back(spark: SparkSession) -> None:  # noqa: ARG001
    seen = set()
    for event in told.events():
        for key, facet in told.facets(event):
            if facet["_schemaURL"].startswith(OWN):
                continue
            given = {name: value for name, value in facet.items() if name not in ("_producer", "_schemaURL")}
            built = build(CLASSES[facet["_schemaURL"]], given)
            back = Serde.to_dict(built)
            told_again = {name: value for name, value in back.items() if name not in ("_producer", "_schemaURL")}
            assert _without_empty(told_again) == _without_empty(given), key
            assert built._get_schema() == facet["_schemaURL"]
            seen.add(key)
    assert {"columnLineage", "lineage", "schema", "parent", "lifecycleStateChange", "tags"} <= seen


def _without_empty(value: Any) -> Any:
    """The client leaves empty lists out."""
    if isinstance(value, dict):
        return {key: _without_empty(one) for key, one in value.items() if one not in ([], None, {})}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value
