"""docs/fields.md has exactly the fields of the rows, and the columns, facets and terms that exist."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from msgspec.inspect import type_info

from exporter.engines import state_local
from exporter.graph import vocabulary
from exporter.graph.terms import DOMAIN_CLASSES, KIND_CLASSES, SETTING_CLASSES
from exporter.input import aggregates, reading
from exporter.input.row import AgentDocument, ChangeDocument
from exporter.model.fact_tables import FACTS, QUERY_HISTORY
from exporter.openlineage.facets import SCHEMAS
from tests.model import every_field
from tests.pages import ROOT, named, sections, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import msgspec.inspect as types

PAGE: Final = text("docs/fields.md")
SECTIONS: Final = sections(PAGE)
DDL, OPERATIONS, PROPERTIES = re.split(r"^### .*$", SECTIONS["object_modified_by_ddl"], flags=re.MULTILINE)
FACTS_CELL, EVENTS_CELL, GRAPH_CELL = 1, 2, 3
OUR_SCHEMAS: Final = ROOT / "exporter" / "openlineage" / "schemas"
KEYS: Final = {"account", "query_id", "query_start_time", "change_key"}
ROOTS: Final = ("eventTime", "run", "job", "inputs[]", "outputs[]")


def leaves(kind: types.Type, path: str = "") -> Iterator[str]:
    each, fields = every_field.element(kind), every_field.below(kind)
    if each is not None:
        yield from leaves(each, f"{path}[]")
    elif fields is not None:
        yield from chain.from_iterable(leaves(one, f"{path}.{name}".lstrip(".")) for name, one in fields.items())
    else:
        yield path


def fields(kind: types.Type) -> set[str]:
    """The leaves of a type of documents, of an array those of its elements: ``columns[].columnName``."""
    return {leaf.removeprefix("[].") for leaf in leaves(kind)}


# --- the rows ---------------------------------------------------------------------------------------------------------


def assert_has_rows_of(body: str, known: set[str]) -> None:
    assert known - named(body) == set(), "give each of these a row in docs/fields.md"
    assert named(body) - known == set(), "fields in docs/fields.md that the exporter does not read"


def test_the_columns_of_a_row() -> None:
    agents = {f"agents_info[].{field}" for field in fields(type_info(AgentDocument))}
    assert_has_rows_of(SECTIONS["The columns of a row"], {*reading._KNOWN, *agents} - set(aggregates.COLUMNS))


def test_the_fields_of_an_element() -> None:
    known = set().union(*map(fields, every_field.OBJECT_ARRAYS.values()))
    assert_has_rows_of(SECTIONS["An element of the object arrays"], known)


def test_the_fields_of_a_change() -> None:
    assert_has_rows_of(DDL, fields(type_info(ChangeDocument)))


def test_the_operations() -> None:
    assert_has_rows_of(OPERATIONS, set(every_field.OPERATIONS))


def test_the_columns_of_query_history() -> None:
    assert_has_rows_of(SECTIONS["QUERY_HISTORY"], {*QUERY_HISTORY, "start_time"})


def test_the_columns_of_aggregate_access_history() -> None:
    shared = ("user_name", "event_source", "organization_name", "account_name", "account_locator")
    documented = ("objects_modified", "object_modified_by_ddl", "policies_referenced")
    accessed = ("direct_objects_accessed", "base_objects_accessed")
    assert_has_rows_of(SECTIONS["AGGREGATE_ACCESS_HISTORY"], {*aggregates.COLUMNS, *shared, *documented, *accessed})


def test_where_there_is_no_place_the_cell_says_why() -> None:
    for cells in table(PAGE):
        for cell in cells[1:]:
            assert cell, f"an empty cell: {cells}"
            assert "*none*" not in cell or re.search(r"\*none\*[\w ]*: \w+ \w+", cell), f"why is there none? {cell}"


# --- the facts --------------------------------------------------------------------------------------------------------


def fact_columns() -> set[str]:
    return {
        f"{table_}.{leaf}"
        for table_, columns in FACTS.items()
        for name, kind in columns.items()
        for leaf in fact_leaves(name, state_local._TYPES[kind.removesuffix(" not null")])
    }


def fact_leaves(name: str, kind: pa.DataType) -> list[str]:
    """A column, or where it is an array of structs ``columns[].column_name``."""
    is_nested = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    return [f"{name}[].{field.name}" for field in kind.value_type] if is_nested else [name]


def test_every_column_of_the_facts_that_is_named_is_there() -> None:
    said = {span for span in named(PAGE, FACTS_CELL) if span.partition(".")[0] in FACTS and "." in span}
    assert said - fact_columns() - {"queries.agents"} == set(), "columns that are not in exporter/model/fact_tables.py"


def test_every_column_of_the_facts_is_named() -> None:
    repeated = {name for name in fact_columns() if name.split(".")[1] in KEYS and not name.startswith("queries.")}
    assert fact_columns() - named(PAGE, FACTS_CELL) - repeated == set(), "name these columns in docs/fields.md"


# --- the graph --------------------------------------------------------------------------------------------------------

TERMS: Final = {f"{node.name} {one.term}" for node in vocabulary.NODE_CLASSES for one in node.properties}


def classes() -> set[str]:
    own = {name for node in vocabulary.NODE_CLASSES for name in (node.name, *node.also)}
    kinds = {name for names in KIND_CLASSES.values() for name in names}
    return own | kinds | {"ah:PropertySetting"} | {*DOMAIN_CLASSES.values(), *SETTING_CLASSES.values()}


def test_every_term_that_is_named_is_there() -> None:
    said = {span for span in named(PAGE, GRAPH_CELL) if ":" in span}
    assert {span for span in said if " " in span} - TERMS == set(), "properties that vocabulary.py does not have"
    assert {span for span in said if " " not in span} - classes() == set(), "classes that vocabulary.py does not have"


def test_every_property_of_the_graph_is_named() -> None:
    assert TERMS - named(PAGE, GRAPH_CELL) == set(), "name these properties in docs/fields.md"


# --- the events -------------------------------------------------------------------------------------------------------


def facet_of(path: str) -> str | None:
    found = re.search(r"[fF]acets\.(\w+)", path)
    return found[1] if found else None


def test_every_facet_is_named_and_no_other() -> None:
    said = {facet_of(span) for span in named(PAGE, EVENTS_CELL)} - {None}
    assert said - set(SCHEMAS) == set(), "facets that are not in exporter/openlineage/facets.py"
    assert {name.rpartition(" ")[2] for name in SCHEMAS} - said == set(), "name these facets in docs/fields.md"


@pytest.mark.parametrize("facet", [name for name in SCHEMAS if name.startswith("accessHistory_")])
def test_every_field_of_our_facets_is_named_and_no_other(facet: str) -> None:
    """As their JSON Schemas have them; the fields of the specification's facets are held against real events."""
    name = SCHEMAS[facet].rpartition("/")[2]
    files = [file for file in OUR_SCHEMAS.rglob(f"{name}.json") if SCHEMAS[facet].split("/")[-4] == file.parent.name]
    assert files, f"add exporter/openlineage/schemas/VERSION/{name}.json"
    schema = json.loads(files[0].read_text(encoding="utf-8"))["$defs"][name]
    properties = {field for part in (schema, *schema.get("allOf", ())) for field in part.get("properties", ())}
    below = {span.partition(f".{facet}.")[2] for span in named(PAGE, EVENTS_CELL)} - {""}
    said = {re.split(r"[.\[]", path)[0] for path in below}
    assert said - properties == set(), f"fields that {name}.json does not have"
    assert properties - said == set(), f"name these fields of {facet} in docs/fields.md"
