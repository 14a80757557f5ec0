"""The nodes of a query: reads, writes, policies, changes, and the versions that it made."""

from __future__ import annotations

from typing import Any, Final

import pytest

from exporter.graph.nodes.agents import of_agent, of_user
from exporter.graph.nodes.queries import of_unrecorded_query
from exporter.input.query_history import History
from exporter.model.answers import Answers, Ending
from exporter.model.facts import (
    Access,
    Agent,
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
from tests.graph.samples import IRIS, NINE, TEN, by_iri, columns, copied, of_class, query, table, told

A, B, D = (table(number, name) for number, name in ((1, "A"), (2, "B"), (4, "D")))


def change(operation: str, thing: ObjectReference, *settings: Setting, **more: Any) -> Change:
    others = [f"{side}_{end}" for side in ("swap", "source") for end in ("key", "name", "id", "domain")]
    none = dict.fromkeys(("new_name", "policy_body", "comment", "properties", *others))
    return Change("c", thing, operation, settings=settings, **{**none, **more})


def setting(property_: str, key: str = A.key, **more: Any) -> Setting:
    given = dict.fromkeys(("column_name", "element", "element_key", "element_id", "sub_operation", "value"))
    return Setting("c", key, property=property_, **{**given, **more})


# --- the query itself ---------------------------------------------------------------------------------------------


def test_a_query_has_the_values_of_its_row() -> None:
    facts = query(
        parent_query_id="p/1",
        root_query_id="r",
        event_source="SNOWFLAKE",
        additional_properties="{}",
        invoker_identity="[]",
        organization_name="ACME",
        account_name="PROD",
        account_locator="AB1",
    )
    assert told(facts, Answers())["query/q1"].values == {
        "ah:queryId": ("q1",),
        "prov:startedAtTime": (NINE,),
        "prov:wasAssociatedWith": ("user/ETL",),
        "dcterms:isPartOf": ("query/p%2F1",),
        "ah:rootQuery": ("query/r",),
        "ah:eventSource": ("SNOWFLAKE",),
        "ah:additionalProperties": ("{}",),
        "ah:invokerIdentity": ("[]",),
        "ah:account": ("snowflake://ACME-PROD/account",),
        "ah:organizationName": ("ACME",),
        "ah:accountName": ("PROD",),
        "ah:accountLocator": ("AB1",),
    }


def test_a_query_has_the_values_of_query_history() -> None:
    texts = {name: name for name in History.__struct_fields__[:11]}
    numbers = {name: number for number, name in enumerate(("bytes_scanned", "rows_produced", "rows_inserted"))}
    history = History(**texts, **numbers, end_time=TEN, total_elapsed_time=5, execution_status="SUCCESS")
    values = told(query(history=history), Answers())["query/q1"].values
    assert values["prov:endedAtTime"] == (TEN,)
    assert values["ah:bytesScanned"] == (0,)
    assert values["ah:rowsInserted"] == (2,)
    assert values["ah:totalElapsedTime"] == (5,)
    camel = {f"ah:{''.join([part.title() if n else part for n, part in enumerate(t.split('_'))])}": t for t in texts}
    assert {term: values[term] for term in camel} == {term: (text,) for term, text in camel.items()}
    assert "ah:rowsDeleted" not in values


def test_agents_acted_in_the_order_of_the_chain() -> None:
    agents = (Agent("CORTEX", "7", "A"), Agent(None, None, "b c"), Agent("CORTEX", "7", "B"), Agent("X", None, None))
    nodes = told(query(Content(agents=agents)), Answers())
    assert nodes["query/q1"].values["prov:wasAssociatedWith"] == (
        "user/ETL", "agent/type/CORTEX/id/7", "agent/name/b%20c", "agent/type/X",
    )  # fmt: skip
    assert [nodes[iri].values for iri in nodes["query/q1"].values["prov:qualifiedAssociation"]] == [
        {"prov:agent": ("user/ETL",)},
        {"prov:agent": ("agent/type/CORTEX/id/7",), "ah:position": (1,)},
        {"prov:agent": ("agent/name/b%20c",), "ah:position": (2,)},
        {"prov:agent": ("agent/type/CORTEX/id/7",), "ah:position": (3,)},
        {"prov:agent": ("agent/type/X",), "ah:position": (4,)},
    ]


def test_an_agent_has_all_its_names() -> None:
    made = by_iri(
        [of_agent(Agent("CORTEX", "7", "A"), ["B", "A", "B"], IRIS), of_agent(Agent(None, None, None), [], IRIS)]
    )
    assert {iri: node.values for iri, node in made.items()} == {
        "agent/type/CORTEX/id/7": {"ah:agentType": ("CORTEX",), "ah:agentId": ("7",), "ah:agentName": ("A", "B")},
        "agent": {},
    }


def test_users_and_queries_without_a_row() -> None:
    made = by_iri([of_user("A B", IRIS), of_unrecorded_query("p/1", IRIS)])
    assert {iri: node.values for iri, node in made.items()} == {
        "user/A%20B": {"ah:userName": ("A B",), "ah:matchName": ("A B",), "rdfs:label": ("A B",)},
        "query/p%2F1": {"ah:queryId": ("p/1",)},
    }
    assert made["query/p%2F1"].types == ("ah:UnrecordedQuery", "prov:Activity")


# --- reads and writes ---------------------------------------------------------------------------------------------

COPY: Final = copied(A, "X", B, "Z")
COPY_ANSWERS: Final = Answers(
    {"table/1": "version/q0"},
    {("table/1", "X"): "before/q-1"},
    {"table/2": "before/q-1"},
    {("table/2", "Z"): "version/q-1"},
)


def test_a_read_is_of_the_version_in_force() -> None:
    nodes = told(query(COPY), COPY_ANSWERS)
    assert nodes["query/q1"].values["prov:used"] == ("table/1/version/q0",)
    assert nodes["query/q1"].values["prov:qualifiedUsage"] == (
        "query/q1/access/base/table/1", "query/q1/access/direct/table/1",
    )  # fmt: skip
    assert nodes["query/q1/access/base/table/1"].values == {
        "prov:entity": ("table/1/version/q0",),
        "ah:accessType": ("BASE",),
        "ah:accessedObject": ("table/1",),
        "ah:objectName": ("A",),
        "ah:readColumn": ("table/1/column/X",),
    }


def test_a_column_under_two_ids_is_read_once() -> None:
    access = Access("DIRECT", A, (Column("X", "1"), Column("X", "2"), Column("Y")))
    nodes = told(query(Content(accesses=(access,))), Answers({"table/1": "before/q-1"}))
    read = nodes["query/q1/access/direct/table/1"].values["ah:readColumn"]
    assert read == ("table/1/column/X", "table/1/column/Y")


def test_a_place_is_read_as_itself_and_its_version_is_below_the_account() -> None:
    place = ObjectReference("location/s3%3A%2F%2Fb%2Fc", "location", location="s3://b/c")
    content = Content(accesses=(Access("DIRECT", place),))
    nodes = told(query(content), Answers({place.key: "before/q-1"}))
    assert nodes["query/q1/access/direct/location/s3%3A%2F%2Fb%2Fc"].values == {
        "prov:entity": ("location/s3%3A%2F%2Fb%2Fc/before/q-1",),
        "ah:accessType": ("DIRECT",),
        "ah:accessedObject": ("s3://b/c",),
    }


def test_a_write_makes_a_version_that_comes_from_all_that_was_read() -> None:
    nodes = told(query(COPY), COPY_ANSWERS)
    node = nodes["table/2/version/q1"]
    assert node.types == ("ah:Version", "prov:Entity")
    assert node.values == {
        "prov:specializationOf": ("table/2",),
        "prov:wasGeneratedBy": ("query/q1",),
        "prov:generatedAtTime": (NINE,),
        "ah:priorVersion": ("table/2/before/q-1",),
        "prov:wasDerivedFrom": ("table/1/version/q0",),
        "ah:derivedFromBase": ("table/1/version/q0",),
        "prov:qualifiedDerivation": ("table/2/version/q1/derivation/Z/direct/table/1/column/X",),
        "ah:wroteColumn": ("table/2/column/Z",),
        "ah:objectName": ("B",),
    }


def test_a_derivation_refers_to_the_version_of_the_column() -> None:
    nodes = told(query(COPY), COPY_ANSWERS)
    assert nodes["table/2/version/q1/derivation/Z/direct/table/1/column/X"].values == {
        "prov:entity": ("table/1/version/q0",),
        "prov:hadActivity": ("query/q1",),
        "ah:sourceType": ("DIRECT",),
        "ah:sourceObject": ("table/1",),
        "ah:sourceName": ("A",),
        "ah:sourceColumn": ("table/1/column/X",),
        "ah:sourceColumnVersion": ("table/1/before/q-1/column/X",),
        "ah:targetColumn": ("table/2/column/Z",),
        "ah:targetColumnVersion": ("table/2/version/q1/column/Z",),
        "ah:targetName": ("B",),
    }
    node = nodes["table/2/version/q1/column/Z"]
    assert node.types == ("ah:ColumnVersion", "prov:Entity")
    assert node.values == {
        "prov:specializationOf": ("table/2/column/Z",),
        "dcterms:isPartOf": ("table/2/version/q1",),
        "prov:wasGeneratedBy": ("query/q1",),
        "ah:priorColumnVersion": ("table/2/version/q-1/column/Z",),
        "prov:wasDerivedFrom": ("table/1/before/q-1/column/X",),
    }


def test_a_function_is_a_source_without_a_column() -> None:
    routine = ObjectReference("function/3", "function", "FUNCTION", "3")
    content = Content(
        writes=(Write(B, columns("Z")),), derivations=(Derivation(B.key, None, "Z", "DIRECT", routine, None),)
    )
    nodes = told(query(content), Answers({"function/3": "before/q-1"}))
    assert nodes["table/2/version/q1/derivation/Z/direct/function/3"].values == {
        "prov:entity": ("function/3/before/q-1",),
        "prov:hadActivity": ("query/q1",),
        "ah:sourceType": ("DIRECT",),
        "ah:sourceObject": ("function/3",),
        "ah:viaFunction": ("function/3",),
        "ah:targetColumn": ("table/2/column/Z",),
        "ah:targetColumnVersion": ("table/2/version/q1/column/Z",),
    }
    assert "prov:wasDerivedFrom" not in nodes["table/2/version/q1/column/Z"].values
    assert nodes["table/2/version/q1"].values["prov:wasDerivedFrom"] == ("function/3/before/q-1",)
    assert "ah:derivedFromBase" not in nodes["table/2/version/q1"].values


def test_what_is_changed_counts_when_the_query_ends() -> None:
    endings = {"table/2": Ending(TEN + 1, "q9", TEN + 1)}
    answers = Answers(COPY_ANSWERS.states, COPY_ANSWERS.columns, endings=endings)
    values = told(query(COPY, history=History(end_time=TEN)), answers)["table/2/version/q1"].values
    assert values["prov:generatedAtTime"] == (TEN,)
    assert values["ah:validUntil"] == (TEN + 1,)
    assert values["prov:wasInvalidatedBy"] == ("query/q9",)
    assert values["prov:invalidatedAtTime"] == (TEN + 1,)
    assert "ah:priorVersion" not in values


def test_a_version_holds_until_the_next() -> None:
    answers = Answers(COPY_ANSWERS.states, COPY_ANSWERS.columns, endings={"table/2": Ending(TEN)})
    values = told(query(COPY), answers)["table/2/version/q1"].values
    assert values["ah:validUntil"] == (TEN,)
    assert "prov:wasInvalidatedBy" not in values


def test_an_answer_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        told(query(COPY), Answers())


def test_rows_of_another_account_are_below_their_own() -> None:
    from exporter.graph.iri import Iris  # noqa: PLC0415 - of this test alone

    other = Iris("ACME-PROD", "ACME-SALES", "snowflake://ACME-SALES/")
    nodes = told(query(COPY), COPY_ANSWERS, other)
    below = "snowflake://ACME-PROD/"
    own = told(query(COPY), COPY_ANSWERS)
    assert list(nodes) == [below + iri for iri in own]
    for iri, node in own.items():
        for one in node.of.properties:
            values = node.values.get(one.term, ())
            expected = values if one.is_literal else tuple(v if "://" in str(v) else f"{below}{v}" for v in values)
            assert nodes[below + iri].values.get(one.term, ()) == expected


# --- policies and joins -------------------------------------------------------------------------------------------


def test_a_policy_is_enforced_in_the_version_in_force() -> None:
    key = "masking-policy/9"
    on_column = PolicyReference(A, "X", "1", key, "MASKING_POLICY", "9", "P", provider=False)
    on_table = PolicyReference(D, None, None, key, "ROW_ACCESS_POLICY", None, None, provider=True)
    nodes = told(query(Content(policies=(on_column, on_table))), Answers({key: "version/q0"}))
    assert "prov:used" not in nodes["query/q1"].values
    assert {iri: nodes[str(iri)].values for iri in nodes["query/q1"].values["ah:enforced"]} == {
        "query/q1/enforced-by-provider/masking-policy/9/on/table/4": {
            "ah:policy": (key,),
            "ah:policyVersion": (f"{key}/version/q0",),
            "ah:policyKind": ("ROW_ACCESS_POLICY",),
            "ah:protectedObject": ("table/4",),
            "ah:objectName": ("D",),
            "ah:setByProvider": (True,),
        },
        "query/q1/enforced/masking-policy/9/on/table/1/column/X": {
            "ah:policy": (key,),
            "ah:policyVersion": (f"{key}/version/q0",),
            "ah:policyKind": ("MASKING_POLICY",),
            "ah:policyName": ("P",),
            "ah:protectedObject": ("table/1",),
            "ah:objectName": ("A",),
            "ah:protectedColumn": ("table/1/column/X",),
            "ah:setByProvider": (False,),
        },
    }


def test_joins() -> None:
    content = Content(joins=(Join(A, "LEFT JOIN", B), Join(table(1), None, table(5))))
    nodes = told(query(content), Answers())
    assert {iri: nodes[str(iri)].values for iri in nodes["query/q1"].values["ah:hasJoin"]} == {
        "query/q1/join/type/LEFT%20JOIN/table/1/with/table/2": {
            "ah:leftObject": ("table/1",),
            "ah:leftName": ("A",),
            "ah:joinType": ("LEFT JOIN",),
            "ah:rightObject": ("table/2",),
            "ah:rightName": ("B",),
        },
        "query/q1/join/untyped/table/1/with/table/5": {"ah:leftObject": ("table/1",), "ah:rightObject": ("table/5",)},
    }


# --- changes ------------------------------------------------------------------------------------------------------


def test_a_change_says_all_that_the_row_says() -> None:
    given = change(
        "SWAP", A, setting("comment", value="hi"), new_name="N", swap_key="table/2", swap_name="B",
        source_key="table/4", source_name="D", policy_body="val", comment="hi", properties="{}",
    )  # fmt: skip
    nodes = told(query(Content(changes=(given,))), Answers())
    assert nodes["query/q1"].values["ah:hasChange"] == ("query/q1/change/c",)
    assert nodes["query/q1/change/c"].values == {
        "dcterms:isPartOf": ("query/q1",),
        "prov:startedAtTime": (NINE,),
        "ah:operation": ("SWAP",),
        "ah:changedObject": ("table/1",),
        "ah:objectName": ("A",),
        "ah:newName": ("N",),
        "ah:swappedWith": ("table/2",),
        "ah:swappedWithName": ("B",),
        "ah:madeFrom": ("table/4",),
        "ah:madeFromName": ("D",),
        "ah:policyBody": ("val",),
        "ah:comment": ("hi",),
        "ah:properties": ("{}",),
        "ah:hasSetting": ("query/q1/change/c/setting/comment",),
    }


def test_a_tag_holds_until_it_is_set_again() -> None:
    tag = {"element": "D.S.T", "element_key": "tag/5", "element_id": "5"}
    settings = (
        setting("tags", column_name="a b", sub_operation="ADD", value="x", **tag),
        setting("tags", sub_operation="ADD", value="y", **tag),
        setting("tags", key="table/2", sub_operation="DROP", **tag),
    )
    answers = Answers(settings={("c", "a b", "tags", "tag/5"): TEN})
    nodes = told(query(Content(changes=(change("ALTER", A, *settings[:2]),))), answers)
    on_column = nodes["query/q1/change/c/setting/column/a%20b/tags/D.S.T"]
    assert on_column.types == ("ah:TagSetting", "ah:Setting")
    assert on_column.values == {
        "ah:property": ("tags",),
        "ah:settingOn": ("table/1",),
        "ah:onColumn": ("table/1/column/a%20b",),
        "ah:element": ("D.S.T",),
        "ah:elementObject": ("tag/5",),
        "ah:elementId": ("5",),
        "ah:subOperation": ("ADD",),
        "ah:value": ("x",),
        "ah:validFrom": (NINE,),
        "ah:validUntil": (TEN,),
    }
    on_table = nodes["query/q1/change/c/setting/tags/D.S.T"].values
    assert on_table["ah:validFrom"] == (NINE,)
    assert "ah:validUntil" not in on_table
    unset = told(query(Content(changes=(change("ALTER", B, settings[2]),))), answers)
    assert "ah:validFrom" not in unset["query/q1/change/c/setting/tags/D.S.T"].values


@pytest.mark.parametrize(
    ("given", "types"),
    [
        (setting("comment", value=""), ("ah:PropertySetting", "ah:Setting")),
        (setting("tags", element="T"), ("ah:TagSetting", "ah:Setting")),
        (setting("maskingPolicies", element="P"), ("ah:PolicySetting", "ah:Setting")),
        (setting("aggregationPolicies", element="P"), ("ah:PolicySetting", "ah:Setting")),
        (setting("aggregationPolicies", value="P"), ("ah:PropertySetting", "ah:Setting")),
        (setting("columns", element="C"), ("ah:ColumnSetting", "ah:Setting")),
        (setting("allowedValues", element="v"), ("ah:AllowedValueSetting", "ah:Setting")),
        (setting("other", element="v"), ("ah:Setting",)),
    ],
)
def test_the_class_of_a_setting(given: Setting, types: tuple[str, ...]) -> None:
    nodes = told(query(Content(changes=(change("ALTER", A, given),))), Answers())
    (node,) = [node for node in nodes.values() if "ah:Setting" in node.types]
    assert node.types == types
    assert node.values.get("ah:value") == (None if given.value is None else (given.value,))


def test_a_policy_has_a_version_for_each_body() -> None:
    policy = ObjectReference("masking-policy/9", "masking-policy")
    nodes = told(query(Content(changes=(change("ALTER", policy, policy_body="val"),))), Answers())
    assert nodes["masking-policy/9/version/q1"].values == {
        "prov:specializationOf": ("masking-policy/9",),
        "prov:wasGeneratedBy": ("query/q1",),
        "prov:generatedAtTime": (NINE,),
        "ah:policyBody": ("val",),
    }


def test_a_renamed_column_comes_from_what_it_was() -> None:
    rename = setting("objectName", column_name="X", value="Y")
    answers = Answers(columns={("table/1", "X"): "version/q0"}, priors={"table/1": "version/q0"})
    nodes = told(query(Content(changes=(change("ALTER", A, rename),))), answers)
    assert nodes["table/1/version/q1/column/Y"].values == {
        "prov:specializationOf": ("table/1/column/Y",),
        "dcterms:isPartOf": ("table/1/version/q1",),
        "prov:wasGeneratedBy": ("query/q1",),
        "prov:wasDerivedFrom": ("table/1/version/q0/column/X",),
    }
    assert "ah:wroteColumn" not in nodes["table/1/version/q1"].values


def test_an_added_column_has_no_prior_version_and_a_dropped_one_has_no_version() -> None:
    columns_ = [
        setting("columns", column_name=name, element=name, sub_operation=what)
        for name, what in (("X", "ADD"), ("Y", "DROP"))
    ]
    nodes = told(query(Content(changes=(change("ALTER", A, *columns_),))), Answers(priors={"table/1": "version/q0"}))
    assert list(of_class(nodes, "ah:ColumnVersion")) == ["table/1/version/q1/column/X"]
    assert "ah:priorColumnVersion" not in nodes["table/1/version/q1/column/X"].values
    assert nodes["table/1/version/q1"].values["ah:priorVersion"] == ("table/1/version/q0",)


def test_a_drop_makes_no_version() -> None:
    nodes = told(query(Content(changes=(change("DROP", A),))), Answers())
    assert list(of_class(nodes, "ah:Version")) == []
