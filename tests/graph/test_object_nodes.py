"""The nodes of an object: its class, its names, its columns, and its versions that no recorded query made."""

from __future__ import annotations

from typing import Any, Final

import pytest

from exporter.graph.nodes.objects import domain_label, of_object
from exporter.model.answers import Ending
from exporter.model.object_state import NamePeriod, ObjectHistory, Profile
from tests.graph.samples import ACCOUNT, IRIS, NINE, TEN, by_iri, of_class

NOTHING: Final = ObjectHistory()


def made(key: str = "table/1", life: ObjectHistory = NOTHING, **known: Any) -> dict[str, Any]:
    return by_iri(of_object(Profile(ACCOUNT, key, **known), life, IRIS))


def types(key: str, *domains: str) -> tuple[str, ...]:
    return tuple(made(key, domains=set(domains))[key].types)


def test_an_object_says_all_that_the_rows_say() -> None:
    life = ObjectHistory(
        [NamePeriod(NINE, "B", TEN, TEN), NamePeriod(TEN, "A", None, TEN)], same_names=["table/name/A", "table/name/B"]
    )
    nodes = made(
        life=life,
        object_id="1",
        domains={"TABLE"},
        signatures={"(X)", "()"},
        data_types={"INT"},
        stage_kinds={"Internal"},
        locations={"s3://b", "file:///a"},
        accounts={"RETAIL"},
    )
    assert nodes["table/1"].values == {
        "rdfs:label": ("A",),
        "ah:domain": ("Table",),
        "ah:objectId": ("1",),
        "ah:hasName": (
            "table/1/called/2026-01-01T09%3A00%3A00Z/B",
            "table/1/called/2026-01-01T10%3A00%3A00Z/A",
        ),
        "ah:sameNameAs": ("table/name/A", "table/name/B"),
        "ah:argumentSignature": ("()", "(X)"),
        "ah:returnType": ("INT",),
        "ah:stageKind": ("Internal",),
        "ah:locationUrl": ("file:///a", "s3://b"),
        "ah:owningAccount": ("RETAIL",),
        "ah:account": ("snowflake://ACME-RETAIL/account",),
    }
    assert {iri: node.values for iri, node in nodes.items() if iri != "table/1"} == {
        "table/1/called/2026-01-01T09%3A00%3A00Z/B": {
            "ah:nameText": ("B",), "ah:matchName": ("B",), "ah:validFrom": (NINE,),
            "ah:validUntil": (TEN,), "ah:lastSeen": (TEN,),
        },
        "table/1/called/2026-01-01T10%3A00%3A00Z/A": {
            "ah:nameText": ("A",), "ah:matchName": ("A",), "ah:validFrom": (TEN,), "ah:lastSeen": (TEN,),
        },
    }  # fmt: skip


def test_the_label_is_the_name_that_holds_else_the_place() -> None:
    names = [NamePeriod(TEN, "GONE", TEN + 1, TEN), NamePeriod(NINE, "HOLDS", None, NINE)]
    assert made(life=ObjectHistory(names), locations={"s3://b"})["table/1"].values["rdfs:label"] == ("HOLDS",)
    assert made(life=ObjectHistory(names[:1]), locations={"s3://b"})["table/1"].values["rdfs:label"] == ("GONE",)
    assert made(locations={"s3://b", "s3://a"})["table/1"].values["rdfs:label"] == ("s3://a",)
    assert made()["table/1"].values == {"ah:domain": ("Table",)}


def test_a_name_that_is_the_key_has_one_spelling() -> None:
    names = {'db.s."T"': (NINE, NINE), "DB.S.T": (NINE, TEN)}
    assert made("table/name/DB.S.T", names=names)["table/name/DB.S.T"].values["ah:canonicalName"] == ("DB.S.T",)
    assert "ah:canonicalName" not in made("table/1", names=names)["table/1"].values
    assert "ah:canonicalName" not in made("table/name/X")["table/name/X"].values


def test_a_place_outside_of_snowflake() -> None:
    nodes = made("location/s3%3A%2F%2Fb%2Fc", columns={"C": set()}, locations={"s3://b/c"})
    assert nodes["s3://b/c"].types == ("ah:Location", "ah:SnowflakeObject", "prov:Entity")
    assert nodes["location/s3%3A%2F%2Fb%2Fc/column/C"].values["ah:columnOf"] == ("s3://b/c",)


@pytest.mark.parametrize(
    ("key", "domains", "expected"),
    [
        ("table/1", ["TRANSIENT TABLE"], ("ah:TransientTable", "ah:Table")),
        ("table/1", ["Temporary"], ("ah:Table",)),
        ("table/1", ["TABLE", "HYBRID TABLE", "EVENT TABLE"], ("ah:EventTable", "ah:HybridTable", "ah:Table")),
        ("view/1", ["SECURE VIEW"], ("ah:SecureView", "ah:View")),
        ("user-stage/name/X", [], ("ah:UserStage", "ah:Stage")),
        ("tag/1", ["TAG"], ("ah:Tag", "skos:ConceptScheme")),
        ("masking-policy/1", [], ("ah:MaskingPolicy", "ah:Policy")),
        ("projection-policy/1", [], ("ah:Policy",)),
        ("warehouse/1", [], ("ah:Warehouse",)),
        ("database-role/name/D.R", [], ("ah:DatabaseRole", "ah:Role")),
        ("integration/1", [], ()),
        ("object/name/X", [], ()),
    ],
)  # fmt: skip
def test_kinds_have_classes(key: str, domains: list[str], expected: tuple[str, ...]) -> None:
    assert types(key, *domains) == (*expected, "ah:SnowflakeObject", "prov:Entity")


def test_a_kind_for_people() -> None:
    kinds = ("table", "masking-policy", "row-access-policy", "agent-object", "%c3%a9tage")
    labels = ["Table", "Masking Policy", "Row Access Policy", "Agent", "%c3%a9tage"]
    assert [domain_label(kind) for kind in kinds] == labels


def test_columns_and_those_that_have_another_name_now() -> None:
    nodes = made(columns={"X": {"2", "1"}, "A B": set()}, renamed_from={"Y": {"X", "W"}, "X": {"V"}})
    assert of_class(nodes, "ah:Column") == {
        "table/1/column/A%20B": {
            "rdfs:label": ("A B",), "ah:columnName": ("A B",), "ah:matchName": ("A B",), "ah:columnOf": ("table/1",),
        },
        "table/1/column/X": {
            "rdfs:label": ("X",), "ah:columnName": ("X",), "ah:matchName": ("X",), "ah:columnId": ("1", "2"),
            "ah:columnOf": ("table/1",),
            "ah:renamedFrom": ("table/1/column/V",),
        },
        "table/1/column/Y": {
            "rdfs:label": ("Y",), "ah:columnName": ("Y",), "ah:matchName": ("Y",), "ah:columnOf": ("table/1",),
            "ah:renamedFrom": ("table/1/column/W", "table/1/column/X"),
        },
    }  # fmt: skip


def test_versions_that_no_query_on_record_made() -> None:
    life = ObjectHistory(unrecorded={"version-after-drop/q2": None, "before/q-1": Ending(None, "q2", TEN)})
    nodes = made(life=life)
    assert of_class(nodes, "ah:UnrecordedVersion") == {
        "table/1/before/q-1": {
            "prov:specializationOf": ("table/1",),
            "prov:wasInvalidatedBy": ("query/q2",),
            "prov:invalidatedAtTime": (TEN,),
        },
        "table/1/version-after-drop/q2": {"prov:specializationOf": ("table/1",)},
    }
    assert nodes["table/1/before/q-1"].types == ("ah:UnrecordedVersion", "ah:Version", "prov:Entity")


def test_a_column_that_nobody_wrote_since_its_table_was_made_is_unrecorded() -> None:
    nodes = made(life=ObjectHistory(unrecorded_columns={("X", "version/q2"), ("A B", "before/q-1")}))
    assert of_class(nodes, "ah:UnrecordedColumnVersion") == {
        "table/1/before/q-1/column/A%20B": {
            "prov:specializationOf": ("table/1/column/A%20B",),
            "dcterms:isPartOf": ("table/1/before/q-1",),
        },
        "table/1/version/q2/column/X": {
            "prov:specializationOf": ("table/1/column/X",),
            "dcterms:isPartOf": ("table/1/version/q2",),
        },
    }
    assert nodes["table/1/version/q2/column/X"].types == (
        "ah:UnrecordedColumnVersion", "ah:ColumnVersion", "prov:Entity",
    )  # fmt: skip
