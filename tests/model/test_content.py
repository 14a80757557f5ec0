"""The content of one row, field by field of the documents."""

from __future__ import annotations

from itertools import count
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
import pytest

from exporter.input import row as documents
from exporter.input.row import STRUCTURED
from exporter.model import query
from exporter.model.profiles import add, attributes_of
from tests.model.told import facts_of, row, tables

TABLE: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
CUT_POLICIES: Final = [{"policyName": "TRUNCATED"}]
ONE_SPELLING: Final = frozenset(("locations", "joinObject", "type"))
OTHER_SPELLING: Final = frozenset(("location", "node", "joinType"))
"""What an element leaves out: fields that say one thing in two ways stand in two elements."""
FIXED: Final = {"objectDomain": "Table", "policyKind": "MASKING_POLICY", "operationType": "ALTER"}


class Said:
    """Documents in which every field says a word that no other says."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self._numbers = count(870_000_001)

    def filled(self, kind: Any, path: str, without: frozenset[str]) -> Any:
        """A value of the type in which every leaf says a new word."""
        if kind == documents.Text:
            name = path.rpartition(".")[2].removesuffix("[]")
            return FIXED.get(name) or self.word(path, is_number=name.endswith("Id"))
        if kind is msgspec.Raw:
            return {"comment": {"value": self.word(path)}}
        if get_origin(kind) is UnionType:
            (kind,) = (one for one in get_args(kind) if one is not NoneType)
        if get_origin(kind) is list:
            return [self.filled(one, f"{path}[]", without) for one in get_args(kind)]
        hints = get_type_hints(kind)
        names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        return {
            name: self.filled(hints[field], f"{path}.{name}", without) for name, field in names if name not in without
        }

    def word(self, path: str, *, is_number: bool = False) -> str:
        number = str(next(self._numbers))
        self.words[path] = number if is_number else f"W{number}W"
        return self.words[path]


@pytest.mark.parametrize("without", [ONE_SPELLING, OTHER_SPELLING])
def test_every_field_of_the_documents_is_in_the_facts(without: frozenset[str]) -> None:
    said, hints = Said(), list(get_type_hints(documents.Document).values())
    columns = {name: said.filled(kind, name, without) for name, kind in zip(STRUCTURED, hints, strict=True)}
    facts = facts_of(row(**columns))
    found: dict[Any, Any] = {}
    add(found, facts)
    values = _texts([tables([facts]), [msgspec.to_builtins(one) for one in found.values()]])
    assert {path for path, word in said.words.items() if word not in values} == set()
    assert len(said.words) > 90


def _texts(value: Any) -> set[str]:
    """Every text, key or value, anywhere in it."""
    if isinstance(value, dict):
        return _texts([*value, *value.values()])
    if isinstance(value, list | tuple | set):
        return {text for one in value for text in _texts(one)}
    return {str(value)}


def user_stage(ident: str | int | None, **fields: str) -> dict[str, Any]:
    """The stage of a user: its id is the user's name (view, ``objectId``), which Snowflake stores as it is."""
    return {"objectDomain": "Stage", "objectId": ident, "stageKind": "User", **fields}


@pytest.mark.parametrize(
    ("thing", "key", "name"),
    [
        (TABLE, "table/5", "D.S.T"), ({**TABLE, "objectId": "5"}, "table/5", "D.S.T"),
        ({**TABLE, "objectId": 5.0}, "table/5", "D.S.T"), ({**TABLE, "objectId": 0}, "table/name/D.S.T", "D.S.T"),
        ({"objectDomain": "Table", "objectName": 'd."s".t'}, "table/name/D.%22s%22.T", 'd."s".t'),
        (user_stage("JSMITH"), "user-stage/name/JSMITH", "JSMITH"),
        (user_stage("JSMITH", objectName="JSMITH"), "user-stage/name/JSMITH", "JSMITH"),
        (user_stage("jsmith"), "user-stage/name/%22jsmith%22", '"jsmith"'),
        (user_stage(None, objectName="jsmith"), "user-stage/name/%22jsmith%22", '"jsmith"'),
        (user_stage("A.B@C.COM"), "user-stage/name/%22A.B%40C.COM%22", '"A.B@C.COM"'),
        (user_stage('o"neil'), "user-stage/name/%22o%22%22neil%22", '"o""neil"'),
        (user_stage("007"), "user-stage/name/%22007%22", '"007"'), (user_stage(7), "user-stage/name/%227%22", '"7"'),
        ({"objectDomain": "Stage", "objectId": "jsmith"}, "user-stage/name/%22jsmith%22", '"jsmith"'),
        ({"objectDomain": "Stage", "objectId": "x", "objectName": "d.s.st"}, "stage/name/D.S.ST", "d.s.st"),
        ({"objectDomain": "Stage", "objectName": "d.s.st"}, "stage/name/D.S.ST", "d.s.st"),
        (user_stage(0, objectName="JSMITH"), "user-stage/name/JSMITH", "JSMITH"),
        ({"objectDomain": "Function", "objectName": "D.S.F", "argumentSignature": "(N NUMBER)"},
         "function/name/D.S.F%28N%20NUMBER%29", "D.S.F"),
        ({"objectDomain": "Function", "objectId": 5, "argumentSignature": "()"}, "function/5", None),
        ({"objectDomain": "Table", "objectName": "T", "argumentSignature": "()"}, "table/name/T", "T"),
        ({"location": "s3://b/a"}, "location/s3%3A%2F%2Fb%2Fa", None),
        ({"objectName": True}, "object/name/TRUE", "true"), ({"objectName": 7}, "object/name/%227%22", "7"),
    ],
)  # fmt: skip
def test_things_and_their_keys(thing: dict[str, Any], key: str, name: str | None) -> None:
    (access,) = facts_of(row(base_objects_accessed=[thing])).content.accesses
    assert (access.thing.key, access.thing.name) == (key, name)


@pytest.mark.parametrize(
    ("listed", "source", "key"),
    [
        ({**TABLE, "objectDomain": "Stage", "stageKind": "Table"}, {"objectId": 5, "objectName": "D.S.T"},
         "table-stage/5"),
        (None, {"objectId": 5, "objectName": "D.S.T"}, "table-stage/5"),
        (None, {"objectId": 6, "objectName": "D.S.T"}, "stage/6"),
        (None, {"objectName": "D.S.T"}, "stage/name/D.S.T"),
        (user_stage("7", objectName="7"), {"objectId": "7", "objectName": "7"}, "user-stage/name/%227%22"),
        (user_stage("007"), {"objectId": "007", "objectName": "007"}, "user-stage/name/%22007%22"),
        (user_stage("7"), {"objectId": 7, "objectName": "D.S.STAGE"}, "stage/7"),
        ({"objectDomain": "Stage", "objectId": 8, "objectName": "D.S.T"}, {"objectId": 8, "objectName": "D.S.T"},
         "stage/8"),
    ],
)  # fmt: skip
def test_a_stage_that_is_a_source_is_the_one_that_the_row_lists(listed: Any, source: dict[str, Any], key: str) -> None:
    """A source has no ``stageKind``; a table and its stage have one id and one name (view, ``objectId``)."""
    column = {"columnName": "A", "directSources": [{"objectDomain": "Stage", **source}]}
    written = {**TABLE, "columns": [column]}
    content = facts_of(row(direct_objects_accessed=[listed] if listed else [], objects_modified=[written])).content
    assert [derivation.source.key for derivation in content.derivations] == [key]


@pytest.mark.parametrize(
    "thing", [None, {}, {"objectDomain": "Table"}, {"objectDomain": "Table", "objectId": -1, "objectName": " "},
              {"objectName": "TRUNCATED"}, {"objectId": "1.5"}, {"locations": [None]}, {"objectName": "$SYS_VIEW_7"},
              {"objectDomain": "View", "objectName": '"D"."$sys_view_1"', "objectId": 0}],
)  # fmt: skip
def test_what_names_nothing_is_left_out(thing: dict[str, Any] | None) -> None:
    arrays = ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced")
    found = facts_of(row(**{name: [thing] for name in arrays})).content
    assert (found.accesses, found.writes, found.policies) == ((), (), ())


def test_several_places_in_one_element_are_several_objects() -> None:
    found = facts_of(row(objects_modified=[{"locations": ["s3://b", "s3://a", None], "location": "s3://c"}])).content
    assert [one.thing.location for one in found.writes] == ["s3://a", "s3://b"]


def test_columns_without_a_name_are_left_out_and_ids_of_zero_are_none() -> None:
    columns = [{"columnName": name, "columnId": ident} for name, ident in (
        ("B", 0), ("A", "-1"), ("", 1), (None, 2), ("TRUNCATED", -1), ("C", 3), ("C", "3"), ("C", 4), ("D", "")
    )]  # fmt: skip
    (access,) = facts_of(row(direct_objects_accessed=[{**TABLE, "columns": [*columns, None]}])).content.accesses
    assert [(one.name, one.column_id) for one in access.columns] == [
        ("A", None),
        ("B", None),
        ("C", "3"),
        ("C", "4"),
        ("D", None),
    ]


def join(**fields: Any) -> dict[str, Any]:
    return {"direct_objects_accessed": [{**TABLE, "joinObjects": [fields]}]}


OTHER: Final = {"objectDomain": "Table", "objectId": 6, "objectName": "D.S.R"}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"joinType": "inner_join", "node": OTHER}, "INNER_JOIN"), ({"type": "X", "joinObject": OTHER}, "X"),
        ({"joinType": "A", "type": "B", "node": OTHER, "joinObject": TABLE}, "A"), ({"node": OTHER}, None),
        ({"joinType": "TRUNCATED", "type": "B", "node": OTHER}, None),
    ],
)  # fmt: skip
def test_joins_in_both_spellings(fields: dict[str, Any], kind: str | None) -> None:
    (found,) = facts_of(row(**join(**fields))).content.joins
    assert (found.left.key, found.left.name, found.join_type, found.right.key) == ("table/5", "D.S.T", kind, "table/6")


@pytest.mark.parametrize("node", [None, {}, {"objectName": "TRUNCATED"}])
def test_a_join_without_a_partner_is_ignored(node: dict[str, Any] | None) -> None:
    assert facts_of(row(**join(joinType="X", node=node))).content.joins == ()


def test_policies_on_objects_and_columns_own_and_of_the_provider() -> None:
    mask = {"policyName": "G.M", "policyId": 0, "policyKind": "MASKING_POLICY"}
    rows = {"policyName": "G.R", "policyId": 8, "policyKind": "Row access policy"}
    odd = {"policyName": "G.O"}
    guarded = {
        **TABLE,
        "columns": [{"columnName": "A", "columnId": 1, "policies": [mask, None]}],
        "policies": [rows, odd],
    }
    found = facts_of(row(policies_referenced=[guarded], provider_policies_referenced=[guarded])).content.policies
    told = [
        (one.column_name, one.column_id, one.policy_key, one.policy_kind, one.policy_name, one.provider)
        for one in found
    ]
    both = [
        (None, None, "policy/name/G.O", "POLICY", "G.O"),
        (None, None, "row-access-policy/8", "ROW_ACCESS_POLICY", "G.R"),
        ("A", "1", "masking-policy/name/G.M", "MASKING_POLICY", "G.M"),
    ]
    of_provider = [(column, ident, f"{key}@provider", *more) for column, ident, key, *more in both]
    assert sorted(told, key=str) == sorted(
        [*((*one, False) for one in both), *((*one, True) for one in of_provider)], key=str
    )


def test_a_function_is_a_source_without_a_column() -> None:
    function = {"objectDomain": "Function", "objectName": "D.S.F", "argumentSignature": "()"}
    column = {"columnName": "A", "directSources": [function], "directSourceColumns": [{**OTHER, "columnName": "B"}]}
    found = facts_of(row(objects_modified=[{**TABLE, "columns": [column, {"directSources": [OTHER]}]}])).content
    told = [(one.target_column, one.source_type, one.source.key, one.source_column) for one in found.derivations]
    assert told == [("A", "DIRECT", "function/name/D.S.F%28%29", None), ("A", "DIRECT", "table/6", "B")]


@pytest.mark.parametrize(
    ("columns", "places"),
    [
        ({"direct_objects_accessed": [None]}, ["direct_objects_accessed UNNAMED"]),
        ({"base_objects_accessed": [{"objectId": 0, "objectName": " "}]}, ["base_objects_accessed UNNAMED"]),
        ({"base_objects_accessed": [{"objectId": "-1", "locations": []}]}, ["base_objects_accessed UNNAMED"]),
        ({"base_objects_accessed": [{"locations": ["s3://a"]}]}, []),
        ({"base_objects_accessed": [{"objectId": 5}]}, ["base_objects_accessed NOT_UNDERSTOOD"]),
        ({"base_objects_accessed": [{**TABLE, "objectId": "x"}]}, ["base_objects_accessed NOT_UNDERSTOOD"]),
        ({"object_modified_by_ddl": {**TABLE, "objectId": True}}, ["object_modified_by_ddl NOT_UNDERSTOOD"]),
        ({"objects_modified": [{**TABLE, "columns": [{"columnId": 5}]}]}, ["objects_modified UNNAMED"]),
        ({"objects_modified": [{**TABLE, "columns": [None]}]}, ["objects_modified UNNAMED"]),
        *[({"direct_objects_accessed": [{**TABLE, "joinObjects": [join]}]}, ["direct_objects_accessed UNNAMED"])
          for join in (None, {"joinType": "INNER"}, {"node": None}, {"node": {"objectDomain": "Table"}},
                       {"type": "INNER", "joinObject": {"objectId": 0, "objectName": ""}})],
        *[({"direct_objects_accessed": [{**TABLE, "joinObjects": [join]}]}, [])
          for join in ({"node": {"location": "s3://a"}}, {"node": {}, "joinObject": TABLE})],
        *[({"objects_modified": [{**TABLE, "columns": [{"columnName": "A", kind: [source]}]}]}, places)
          for kind in ("directSources", "baseSources", "directSourceColumns", "baseSourceColumns")
          for source, places in (
              (None, ["objects_modified UNNAMED"]),
              ({"columnName": "X"}, ["objects_modified UNNAMED"]),
              ({"objectDomain": "Table", "columnName": "X"}, ["objects_modified UNNAMED"]),
              ({"objectDomain": "FUNCTION"}, ["objects_modified UNNAMED"]),
              (TABLE, []),
              ({"objectName": "TRUNCATED", "columnName": "X"}, ["objects_modified TRUNCATED"]),
          )],
        ({"policies_referenced": [{**TABLE, "columns": [{"columnName": "A", "policies": CUT_POLICIES}]}]},
         ["policies_referenced TRUNCATED"]),
        ({"direct_objects_accessed": [{**TABLE, "objectName": "TRUNCATED_AT"}], "user_name": "TRUNCATED"}, []),
        ({"base_objects_accessed": [{"objectName": "T", "locations": [" "]}]}, []),
        ({"object_modified_by_ddl": {}}, []),
        ({"object_modified_by_ddl": {"operationType": None, "properties": {}}}, []),
        ({"object_modified_by_ddl": {"objectDomain": "Table"}}, ["object_modified_by_ddl UNNAMED"]),
        ({"object_modified_by_ddl": {"newKey": 1}}, ["object_modified_by_ddl UNNAMED"]),
        ({"object_modified_by_ddl": {"operationType": "ALTER", "objectId": 5}},
         ["object_modified_by_ddl NOT_UNDERSTOOD"]),
        ({"object_modified_by_ddl": {"operationType": "ALTER", "objectName": "T"}},
         ["object_modified_by_ddl NOT_UNDERSTOOD"]),
        ({"base_objects_accessed": [{"objectId": 5, "objectName": "T"}]}, ["base_objects_accessed NOT_UNDERSTOOD"]),
        ({"base_objects_accessed": [{"objectName": "$SYS_VIEW_7"}]}, ["base_objects_accessed UNKNOWN_STREAM"]),
        ({"objects_modified": [{**TABLE, "columns": [{"columnName": "A", "directSources": [{"objectId": 5}]}]}]},
         ["objects_modified NOT_UNDERSTOOD"]),
        ({"policies_referenced": [{**TABLE, "policies": [{"policyName": "G.M", "policyId": 1}]}]},
         ["policies_referenced NOT_UNDERSTOOD"]),
        ({"policies_referenced": [{**TABLE, "policies": [{"policyName": "G.M", "policyKind": "NEW_POLICY"}]}]},
         ["policies_referenced NOT_UNDERSTOOD"]),
        ({"object_modified_by_ddl": {"objectName": "TRUNCATED"}}, ["object_modified_by_ddl TRUNCATED"]),
        ({"object_modified_by_ddl": {**TABLE, "properties": "TRUNCATED"}}, ["object_modified_by_ddl TRUNCATED"]),
        ({"object_modified_by_ddl": {**TABLE, "operationType": "TRUNCATED"}}, ["object_modified_by_ddl TRUNCATED"]),
        ({"object_modified_by_ddl": {"objectDomain": "TRUNCATED", "operationType": "DROP"}},
         ["object_modified_by_ddl TRUNCATED"]),
        *(({"object_modified_by_ddl": {"objectDomain": domain, "operationType": "DROP", **nameless}},
           [f"object_modified_by_ddl UNNAMED{kind}"])
          for domain, kind in (("Table", ""), ("Schema", ""), (None, ""), ("NEW THING", ""), ("TAG", " TAG"),
                               ("MASKING_POLICY", " MASKING POLICY"), ("Share", " SHARE"), ("Sequence", " SEQUENCE"))
          for nameless in ({}, {"objectName": None, "objectId": -1}, {"objectName": "", "objectId": 0})),
        *(({"object_modified_by_ddl": {"objectDomain": "Table", "objectId": 6, "operationType": operation}},
           ["object_modified_by_ddl UNNAMED"] if operation == "REPLACE" else [])
          for operation in ("REPLACE", "ALTER", "DROP", "CREATE")),
        ({"object_modified_by_ddl": {**TABLE, "operationType": None}}, ["object_modified_by_ddl NOT_UNDERSTOOD"]),
        *(({place: [{**TABLE, "columns": [{"columnName": "A", "policies": [{"policyKind": kind, **nameless}]}]}]},
           [f"{place} UNNAMED {kind.replace('_', ' ')}"])
          for place in ("policies_referenced", "provider_policies_referenced")
          for kind in ("MASKING_POLICY", "ROW_ACCESS_POLICY")
          for nameless in ({}, {"policyName": " ", "policyId": 0}, {"policyName": None, "policyId": -1})),
        ({"policies_referenced": [{**TABLE, "policies": [{"policyId": 5, "policyKind": "MASKING_POLICY"}]}]}, []),
        ({"policies_referenced": [{**TABLE, "columns": [{"columnName": "A", "columnId": 1}]}]},
         ["policies_referenced NOT_UNDERSTOOD"]),
        ({"policies_referenced": [{**TABLE, "columns": [{"columnName": "TRUNCATED", "columnId": -1}]}]},
         ["policies_referenced TRUNCATED"]),
        ({"policies_referenced": [{**TABLE, "policies": [{"policyId": 5, "policyKind": "ROW_ACCESS_POLICY"}],
                                   "columns": [{"columnName": "A", "columnId": 1}]}]}, []),
        ({"policies_referenced": [{**TABLE, "policies": [{}]}]},
         ["policies_referenced NOT_UNDERSTOOD", "policies_referenced UNNAMED"]),
    ],
)  # fmt: skip
def test_what_is_left_unnamed_or_was_truncated(columns: dict[str, Any], places: list[str]) -> None:
    assert list(facts_of(row(**columns)).content.incomplete) == places


@pytest.mark.parametrize(
    ("change", "is_lost"),
    [
        ({"properties": {"tags": [{"subOperationType": "ADD", "objectId": {"value": 9}}]}}, True),
        ({"properties": {"columns": {"A": {"maskingPolicies": [{"subOperationType": "ADD", "objectId": 9}]}}}}, True),
        ({"properties": {"columns": [{"subOperationType": "ADD", "objectId": 9}]}}, True),
        ({"properties": {"columns": {"A": {"tags": {"D.S.PII": {"subOperationType": "UNSET"}}}}}}, True),
        ({"properties": {"tags": 5}}, True),
        ({"properties": {"objectName": {"value": {}}}}, True),
        ({"properties": {"grant": {"value": {"PRIVILEGES": ["SELECT"]}}}, "objectDomain": "Share"}, True),
        ({"properties": {"accountsToAdd": {"value": {}}}, "objectDomain": "Share"}, True),
        ({"operationType": "TRANSMUTE"}, True),
        ({"properties": {"columns": {"A": {"objectId": {"value": 5}}}}}, True),
        ({"properties": {"columns": [{"objectName": "A"}]}}, True),
        ({"properties": {"columns": {"A": {"objectName": {"value": "B"}}}}}, False),
        ({"properties": {"columns": {"A": {"tags": {"D.S.PII": {"subOperationType": "ADD"}}}}}}, False),
        ({"properties": {"columns": {"A": {"objectId": {"value": 5}}}}, "operationType": "CREATE"}, False),
        ({"properties": {"colour": {"value": "blue"}, "columns": {"A": {"width": {"value": 5}}}}}, False),
        ({"properties": {"tags": [{"subOperationType": "ADD", "objectId": 9, "objectName": "D.S.PII"}]}}, False),
    ],
)
def test_what_a_change_did_can_be_lost_by_what_is_not_understood(
    change: dict[str, Any],
    is_lost: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A new name loses nothing: it is read by its structure."""
    changed = {**TABLE, "operationType": "ALTER", **change}
    found = facts_of(row(object_modified_by_ddl=changed)).content.incomplete
    assert found == (("object_modified_by_ddl NOT_UNDERSTOOD",) if is_lost else ())


@pytest.mark.parametrize("is_in_one_row", [True, False])
def test_all_data_types_of_a_routine_without_an_id_are_kept(*, is_in_one_row: bool) -> None:
    """docs/fields.md, "dataType": of the object all of them, though the row does not say that they are several."""
    name = {"objectDomain": "FUNCTION", "objectName": "D.S.F", "argumentSignature": "(X NUMBER)"}
    both = [{**name, "dataType": kind} for kind in ("VARCHAR", "NUMBER", "NUMBER")]
    rows = [row(direct_objects_accessed=both)] if is_in_one_row else [
        row(direct_objects_accessed=[one]) for one in both
    ]  # fmt: skip
    content = facts_of(*rows).content
    types = [thing.data_type for thing in query.objects(content)]
    assert sorted(kind for kind in types if kind is not None) == ["NUMBER", "VARCHAR"]
    assert {(thing.key, thing.name) for thing in content.also_named} == {(content.accesses[0].thing.key, "D.S.F")}


@pytest.mark.parametrize("is_in_one_row", [True, False])
def test_all_names_of_an_id_are_kept(*, is_in_one_row: bool) -> None:
    """docs/input.md, "How a name or an id becomes a key": the graph keeps every name of an object."""
    places: list[dict[str, Any]] = [
        {"base_objects_accessed": [{**TABLE, "objectName": name}], "objects_modified": [{**OTHER, "objectName": other}],
         "policies_referenced": [{**TABLE, "objectName": name, "policies": [{"policyId": 7, "policyName": policy}]}]}
        for name, other, policy in (("D.S.B", "D.S.N", "D.S.P2"), ("D.S.A", "D.S.M", "D.S.P1"))
    ]  # fmt: skip
    if is_in_one_row:
        places = [{column: each + places[1][column] for column, each in places[0].items()}]
    content = facts_of(*[row(**place) for place in places]).content
    names = {key: [name for _, name in seen] for key, seen in attributes_of(content).names.items()}
    assert names == {"policy/7": ["D.S.P1", "D.S.P2"], "table/5": ["D.S.A", "D.S.B"], "table/6": ["D.S.M", "D.S.N"]}
    assert [access.thing.name for access in content.accesses] == ["D.S.A"]


def test_the_same_content_is_read_once() -> None:
    one, other = row(base_objects_accessed=[TABLE]), row(query_id="other", base_objects_accessed=[TABLE])
    assert one.content is not other.content
    assert facts_of(one).content is facts_of(other).content


@pytest.mark.parametrize("length", [10, 5_000, 100_000])
def test_a_content_of_any_length_says_the_same_each_time(length: int) -> None:
    long = row(base_objects_accessed=[{**TABLE, "objectName": "L" * length}]).content
    again = bytes(bytearray(long))
    assert query.content_of(long, "") == query.content_of(again, "")
    assert query.content_of(long, "").accesses[0].thing.name == "L" * length
