"""The effects of a query on objects: reads, versions, columns, names, settings."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.model.effects import NOTHING, Effect, effects, is_rename
from exporter.model.facts import (
    Access,
    Change,
    Column,
    Content,
    Derivation,
    Join,
    ObjectReference,
    PolicyReference,
    Setting,
    Write,
)

T, OTHER, ROUTINE = (
    ObjectReference("table/1", "table"),
    ObjectReference("table/2", "table"),
    ObjectReference("function/3", "function"),
)


def setting(property_: str, **more: Any) -> Setting:
    given = dict.fromkeys(("column_name", "element", "element_key", "element_id", "sub_operation", "value"))
    return Setting("alter/table/1", "table/1", property=property_, **{**given, **more})


def change(operation: str, *settings: Setting, policy_body: str | None = None) -> Change:
    return Change(f"{operation.lower()}/table/1", T, operation, policy_body=policy_body, settings=settings)


def done(*changes: Change, **content: Any) -> Effect:
    return effects(Content(changes=changes, **content)).get("table/1", NOTHING)


def test_reads() -> None:
    accesses = (Access("BASE", T), Access("DIRECT", T, (Column("C"),)), Access("PROVIDER_BASE", OTHER))
    found = effects(Content(accesses=accesses))
    assert found == {
        "table/1": Effect(is_read=True, is_data=True, is_base=True),
        "table/2": Effect(is_read=True, is_data=True),
    }


def test_sources_are_read_and_so_are_routines() -> None:
    derivations = tuple(
        Derivation("table/9", None, "T", kind, source, column)
        for kind, source, column in (("DIRECT", T, "B"), ("BASE", T, "A"), ("BASE", T, "B"), ("DIRECT", ROUTINE, None))
    )
    assert effects(Content(derivations=derivations)) == {
        "function/3": Effect(is_read=True, is_data=True),
        "table/1": Effect(is_read=True, is_data=True, source_columns={"A", "B"}),
    }


def test_a_policy_is_used_but_is_not_a_source_of_data() -> None:
    reference = PolicyReference(T, "C", None, "masking-policy/4", "MASKING_POLICY", "4", None, provider=False)
    assert effects(Content(policies=(reference,))) == {"masking-policy/4": Effect(is_read=True)}


def test_what_is_only_joined_has_no_effect() -> None:
    assert effects(Content(joins=(Join(T, None, OTHER),))) == {}


def test_a_write_makes_a_version_of_the_columns() -> None:
    write = Write(T, (Column("B", "1"), Column("A"), Column("B", "2")))
    assert done(writes=(write,)) == Effect(makes=True, written={"A": False, "B": False})


@pytest.mark.parametrize(
    ("operation", "effect"),
    [
        ("CREATE", Effect(makes=True, creates=True)),
        ("REPLACE", Effect(makes=True, creates=True, replaces=True)),
        ("UNDROP", Effect(makes=True)),
        ("DROP", Effect(drops=True)),
        ("ALTER", NOTHING),
        ("SWAP", NOTHING),
    ],
)
def test_operations(operation: str, effect: Effect) -> None:
    assert done(change(operation)) == effect


def test_a_body_makes_a_version_of_a_policy() -> None:
    both = Effect(makes=True, policy_body="b")
    assert done(change("ALTER", policy_body="a"), change("SET", policy_body="b")) == both
    assert done(change("ALTER", policy_body="b"), change("SET", policy_body="a")) == both
    assert done(change("ALTER", policy_body="b"), change("UNDROP")) == both
    assert done(change("DROP", policy_body="b")) == Effect(drops=True, makes=True, policy_body="b")


def test_a_body_that_was_cut_is_another_one_that_is_not_known() -> None:
    assert done(change("ALTER", setting("policyBody", value="TRUNCATED"))) == Effect(makes=True)
    assert done(change("ALTER", setting("comment", value="TRUNCATED"))) == NOTHING
    assert done(change("ALTER", setting("policyBody", column_name="C", value="TRUNCATED"))) == NOTHING


@pytest.mark.parametrize("operations", [("CREATE", "UNDROP"), ("UNDROP", "REPLACE")])
def test_what_is_created_and_changed_is_created(operations: tuple[str, str]) -> None:
    assert done(*map(change, operations)) == Effect(makes=True, creates=True, replaces="REPLACE" in operations)


def test_columns_that_are_added_are_new_and_dropped_ones_are_not_written() -> None:
    added = setting("columns", column_name="B", element="B", sub_operation="ADD")
    dropped = setting("columns", column_name="A", element="A", sub_operation="DROP")
    altered = setting("columns", column_name="C", element="C", sub_operation="ALTER")
    assert done(change("ALTER", altered)) == NOTHING
    assert done(change("ALTER", dropped)) == Effect(makes=True, lost={"A"})
    assert done(change("ALTER", added, dropped)) == Effect(makes=True, written={"B": True}, lost={"A"})


def test_a_column_that_is_written_and_added_is_new() -> None:
    added = setting("columns", column_name="B", element="B", sub_operation="ADD")
    both = done(change("CREATE", added), writes=(Write(T, (Column("A"), Column("B"))),))
    assert both == Effect(makes=True, creates=True, written={"A": False, "B": True})


def test_a_renamed_column() -> None:
    renames = [setting("objectName", column_name=old, value=new) for old, new in (("X", "Y"), ("A", "B"))]
    assert done(change("ALTER", *renames)) == Effect(
        makes=True,
        written={"B": True, "Y": True},
        renamed={("A", "B"): "alter/table/1", ("X", "Y"): "alter/table/1"},
    )


@pytest.mark.parametrize("value", [None, "", "  ", "X", "TRUNCATED"])
def test_what_is_no_new_name(value: str | None) -> None:
    assert not is_rename(setting("objectName", column_name="X", value=value))
    assert done(change("ALTER", setting("objectName", column_name="X", value=value))) == NOTHING


def test_the_name_of_the_object_is_no_name_of_a_column() -> None:
    assert not is_rename(setting("objectName", value="Y"))
    assert not is_rename(setting("comment", column_name="X", value="Y"))
    assert is_rename(setting("objectName", column_name="X", value=" \t"))


def test_tags_and_policies_that_are_set_or_unset() -> None:
    tag = {"element": "T", "element_key": "tag/5"}
    twice = setting("tags", column_name="C", value="a", sub_operation="ADD", **tag)
    again = setting("tags", column_name="C", value="b", sub_operation="ADD", **{**tag, "element": "t"})
    gone = setting("tags", sub_operation="DROP", **tag)
    plain = setting("tags", element="TRUNCATED", sub_operation="ADD")
    assert done(change("ALTER", twice, again, gone, plain)) == Effect(
        settings={
            ("alter/table/1", "C", "tags", "tag/5"): {"T": "a", "t": "b"},
            ("alter/table/1", None, "tags", "tag/5"): {},
        }
    )


def test_the_same_content_is_read_once() -> None:
    content = Content(writes=(Write(T),))
    assert effects(content) is effects(content)
    assert effects(Content(writes=(Write(T),))) == effects(content)


def test_many_contents_are_told_apart() -> None:
    """More than are kept, of which each may lie where another lay."""
    for number in range(1000):
        assert list(effects(Content(writes=(Write(ObjectReference(f"table/{number}", "table")),)))) == [
            f"table/{number}"
        ]


def test_keys_are_sorted() -> None:
    content = Content(writes=tuple(Write(ObjectReference(f"table/{number}", "table")) for number in (3, 1, 2)))
    assert list(effects(content)) == ["table/1", "table/2", "table/3"]


@pytest.mark.parametrize(
    ("thing", "new", "found"),
    [
        (ObjectReference("table/name/D.S.A", "table", "TABLE", None, "D.S.A"), "D.S.Z", "table/name/D.S.Z"),
        (ObjectReference("view/name/D.S.A", "view", "VIEW", None, "D.S.A"), "D.S.Z", "view/name/D.S.Z"),
        (ObjectReference("table/name/D.S.A", "table", "TABLE", None, "D.S.A"), "d.s.a", None),  # another spelling
        (ObjectReference("table/1", "table", "TABLE", "1", "D.S.A"), "D.S.Z", None),
        (ObjectReference("tag/name/D.S.A", "tag", "TAG", None, "D.S.A"), "D.S.Z", None),
        (ObjectReference("table/name/D.S.A", "table", "TABLE", None, "D.S.A"), None, None),
    ],
)
def test_a_rename_without_an_id_ends_one_object_and_begins_another(
    thing: ObjectReference, new: str | None, found: str | None
) -> None:
    renaming = Change(f"alter/{thing.key}", thing, "ALTER", new, *[None] * 11)
    expected = {} if found is None else {thing.key: Effect(drops=True), found: Effect(makes=True, creates=True)}
    assert effects(Content(changes=(renaming,))) == expected
