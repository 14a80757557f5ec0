"""Every event of every example and of random histories is valid by the specification's JSON Schemas and ours.

Without the specification (tests/shared.py), test_client.py still checks every event by the classes of OpenLineage's
client.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from exporter.backends.fit import FACETS
from exporter.openlineage.facets import OWN, SCHEMAS
from tests import exports, golden, shared
from tests.openlineage import told

if TYPE_CHECKING:
    from pathlib import Path

needs_the_specification: Final = shared.needs(shared.OPENLINEAGE)
OURS: Final = golden.ROOT / "exporter" / "openlineage" / "schemas"


@cache
def registry() -> Registry[Any]:
    files = [*shared.OPENLINEAGE.rglob("*.json"), *OURS.rglob("*.json")]
    read = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in read)


def is_uri(text: object) -> bool:
    """RFC 3986: a scheme, then characters that need no escape, and escapes."""
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[!#$&-;=?-\[\]_a-z~]|%[0-9A-Fa-f]{2})*", str(text)))


def faults(instance: Any, url: str) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(url).iter_errors(instance)]


@cache
def validator(url: str) -> Draft202012Validator:
    checker = FormatChecker()
    checker.checks("uri")(is_uri)
    assert {"date-time", "uuid"} <= set(checker.checkers), "rfc3339-validator is missing: formats would go unchecked"
    return Draft202012Validator({"$ref": url}, registry=registry(), format_checker=checker)


@cache
def every() -> tuple[told.Json, ...]:
    """With QUERY_HISTORY and without, and of AGGREGATE_ACCESS_HISTORY."""
    of_calls = (
        event for folder in golden.folders() if golden.aggregates(folder) for event in golden.expected_events(folder)
    )
    return (*told.events(), *told.events_with_history(), *of_calls)


@needs_the_specification
def test_every_event_is_what_its_schema_says() -> None:
    kinds = {"RunEvent": 0, "DatasetEvent": 0}
    wrong = {}
    for event in every():
        kinds[event["schemaURL"].rpartition("/")[2]] += 1
        found = faults(event, event["schemaURL"])
        if found:
            wrong[json.dumps(event)[:300]] = found
    assert wrong == {}
    assert min(kinds.values()) > 100


@needs_the_specification
def test_every_facet_is_what_its_schema_says() -> None:
    different = {(key, json.dumps(facet)) for event in every() for key, facet in told.facets(event)}
    wrong, seen = [], set[str]()
    for key, text in different:
        facet = json.loads(text)
        assert facet["_schemaURL"] in {url for name, url in SCHEMAS.items() if name.rpartition(" ")[2] == key}
        seen.add(facet["_schemaURL"])
        wrong += [(key, fault) for fault in faults(facet, facet["_schemaURL"])]
    assert wrong == []
    assert seen == set(SCHEMAS.values()), "facets of which nothing was held against its schema"


def test_every_key_of_an_event_stands_once() -> None:
    """A reader of JSON takes the last of two members of one name without a word."""

    def once(members: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(members)) == len(members)
        return dict(members)

    texts = told.texts(exports.all_rows(), history=told.history(), sql=True)
    assert [json.loads(text, object_pairs_hook=once) for text in texts]


@needs_the_specification
@pytest.mark.parametrize("folder", golden.folders(), ids=lambda folder: folder.name)
def test_every_event_that_an_example_expects_is_what_its_schemas_say(folder: Path) -> None:
    events = golden.expected_events(folder)
    assert events
    assert [fault for event in events for fault in faults(event, event["schemaURL"])] == []
    facets = [facet for event in events for _, facet in told.facets(event)]
    assert [fault for facet in facets for fault in faults(facet, facet["_schemaURL"])] == []


@needs_the_specification
@pytest.mark.parametrize("cut", ["TRUNCATED", ["TRUNCATED"], ["SELECT", "TRUNCATED"], [None]])
def test_a_grant_of_which_snowflake_cut_a_part_is_what_its_schema_says(cut: Any) -> None:
    share = {"objectDomain": "Share", "objectId": 5, "objectName": "OUT", "operationType": "GRANT"}
    grant = {"PRIVILEGES": cut, "ROLES": cut, "SECURABLE_OBJECT_DOMAIN": "View", "SECURABLE_OBJECT_NAME": "D.S.V"}
    ddl = {**share, "properties": {"grant": {"value": grant}}}
    begun = {"query_id": "q", "query_start_time": "2026-01-01T00:00:00Z", "user_name": "U"}
    facets = [
        one for text in told.texts([{**begun, "object_modified_by_ddl": ddl}]) for one in told.facets(json.loads(text))
    ]
    assert "accessHistory_ddl" in {key for key, _ in facets}
    assert [fault for _, facet in facets for fault in faults(facet, facet["_schemaURL"])] == []


def test_our_facets_hold_no_field_that_their_schema_does_not_name() -> None:
    """Our schemas are open, as those of the specification are, so a field left out of them would pass unseen."""
    for event in every():
        for _, facet in told.facets(event):
            if facet["_schemaURL"].startswith(OWN):
                assert set(facet) - {"_producer", "_schemaURL"} <= set(_properties(facet["_schemaURL"]))


@pytest.mark.parametrize("file", sorted(OURS.rglob("*.json")), ids=lambda file: file.stem)
def test_no_field_has_the_name_of_one_that_javas_client_keeps_for_itself(file: Path) -> None:
    """OpenLineage's client for Java keeps the fields that it does not know in a map ``additionalProperties``. Its
    versions 1.50 and 1.51 with Jackson 2.21, which DataHub has, refuse an event with a field of this name.
    """
    schema = json.loads(file.read_text(encoding="utf-8"))
    for definition in schema["$defs"].values():
        assert "additionalProperties" not in _property_names(definition)


def _property_names(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_property_names, schema))
    if not isinstance(schema, dict):
        return set()
    inner = _property_names([value for name, value in schema.items() if name != "properties"])
    named = schema.get("properties", {})
    return {*named, *inner, *_property_names(list(named.values()))}


@cache
def _properties(url: str) -> dict[str, Any]:
    path, name = url.removeprefix(f"{OWN}/").split("#/$defs/")
    schema = json.loads((OURS / path).read_text(encoding="utf-8"))
    return dict(schema["$defs"][name]["allOf"][1]["properties"])


@needs_the_specification
@pytest.mark.parametrize("file", sorted(OURS.rglob("*.json")), ids=lambda file: file.stem)
def test_our_schemas_are_schemas_named_after_their_facet(file: Path) -> None:
    schema = json.loads(file.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    (key,) = schema["properties"]
    assert schema["$id"] == f"{OWN}/{file.parent.name}/{file.name}"
    url = {**SCHEMAS, **FACETS}[key]
    assert url == f"{schema['$id']}#/$defs/{file.stem}"
    producer = {"_producer": "https://example.com/p", "_schemaURL": url}
    assert faults(producer, url), "a facet that tells nothing must not pass"


@needs_the_specification
def test_an_event_with_a_wrong_time_or_run_id_is_found() -> None:
    """The validator of these tests sees what it is there to see."""
    base = {
        "producer": "https://example.com/p",
        "schemaURL": "https://example.com/s",
        "job": {"namespace": "n", "name": "j"},
    }
    good = {
        **base,
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "run": {"runId": "eebd5ee2-26f4-5bb9-a22f-02dbe0bd6c76"},
    }
    url = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    assert faults(good, url) == []
    for time in ("2024-01-01 00:00:00", "2024-01-01", "2024-13-01T00:00:00Z"):
        assert faults({**good, "eventTime": time}, url)
    for uri in ("no uri", "https://example.com/ü", "https://example.com/%2"):
        assert faults({**good, "producer": uri}, url)
    assert faults({**good, "run": {"runId": "q-1"}}, url)
