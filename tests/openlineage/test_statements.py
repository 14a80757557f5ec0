"""The parts of an event that follow from its statement, including cases that random histories rarely contain."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from msgspec.structs import replace

from exporter.input.query_history import History
from exporter.model.answers import Answers, Dataset
from exporter.model.facts import (
    Access,
    Agent,
    Change,
    Column,
    Content,
    Join,
    ObjectReference,
    PolicyReference,
    Setting,
    Write,
)
from exporter.openlineage import facets
from exporter.openlineage.events import events_of, rows_written, run_events
from exporter.openlineage.facets import without_none
from exporter.openlineage.statement import statement
from tests.openlineage.statements import (
    DEFAULTS,
    NS,
    Json,
    complete,
    datasets,
    derived,
    names,
    query,
    read,
    spoken,
    thing,
    write,
)

CHANGE = Change("alter/table/9", thing("table/9"), "ALTER", *[None] * 11, properties="{}")


def setting(property_: str, **more: str | None) -> Setting:
    given = {
        "column_name": None,
        "element": None,
        "element_key": None,
        "element_id": None,
        "sub_operation": None,
        "value": None,
    }
    return Setting(**{"change_key": CHANGE.change_key, "object_key": "table/9", "property": property_, **given, **more})


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_what_is_only_named_as_a_source_is_an_input_after_the_others() -> None:
    """A backend drops a column's edge from what is no input."""
    found = complete(
        Content(
            accesses=(read("table/5", "X"),),
            writes=(write("table/9", "A", "B"),),
            derivations=(
                derived("B", thing("table/1"), "Y"),
                derived("B", thing("table/1"), "X"),
                derived("A", thing("table/3"), "Z"),
                derived("A", thing("table/5"), "X"),
            ),
        )
    )
    assert names(found["inputs"]) == ["T5", "T3", "T1"]
    unlisted = found["inputs"][2]
    assert unlisted["inputFacets"]["accessHistory_access"]["accesses"] == ["SOURCE"]
    assert unlisted["inputFacets"]["accessHistory_access"]["columns"] == ["X", "Y"]
    assert list(unlisted["facets"]) == ["schema"]
    assert names(unlisted["facets"]["schema"]["fields"]) == ["X", "Y"]
    assert found["job"]["name"].startswith("write T9 from T1 + 2 [")
    assert names(found["outputs"][0]["facets"]["lineage"]["inputs"]) == ["T1", "T3", "T5"]


def test_such_inputs_are_in_the_order_of_what_was_written() -> None:
    columns = [f"C{number}" for number in range(9)]
    derivations = (
        derived("A", thing("table/1"), "X", target="table/9"),
        *[derived("A", thing("table/2"), column, target="table/8") for column in reversed(columns)],
    )
    found = complete(Content(writes=(write("table/8"), write("table/9")), derivations=derivations))
    assert names(found["inputs"]) == ["T2", "T1"]
    assert found["inputs"][0]["inputFacets"]["accessHistory_access"]["columns"] == columns


def test_of_objects_of_one_name_the_first_kind_of_access_says_what_the_dataset_is() -> None:
    """A tag may have a table's name, and no columns."""
    content = Content(accesses=(read("tag/1", name="N"), read("view/2", name="N", access="BASE")))
    told = {one: Dataset(NS, "N", b'{"of":"%s"}' % one[0].encode()) for one in spoken(content)}
    body = json.loads(run_events(query(content), Answers(datasets=told), DEFAULTS)[-1].body)
    assert [one["facets"] for one in body["inputs"]] == [{"of": "view/2"}]


def test_objects_of_one_name_are_one_input_with_all_that_is_said_of_them() -> None:
    accesses = (
        read("table/1", "B", name="N"),
        read("table/1", "A", name="N", access="BASE", account="OTHER"),
        read("stage/2", "A", name="N", stage_kind="User"),
    )
    found = complete(Content(accesses=accesses))
    (one,) = found["inputs"]
    told = one["inputFacets"]["accessHistory_access"]
    table = {"objectDomain": "TABLE", "objectId": "1", "accountName": "OTHER"}
    stage = {"objectDomain": "STAGE", "objectId": "2", "stageKind": "User"}
    assert without_head(told) == {
        "accesses": ["BASE", "DIRECT"],
        "columns": ["A", "B"],
        **table,
        "objects": [
            {"accesses": ["BASE", "DIRECT"], "columns": ["A", "B"], **table},
            {"accesses": ["DIRECT"], "columns": ["A"], **stage},
        ],
    }


def without_head(facet: Json) -> Json:
    return {name: value for name, value in facet.items() if not name.startswith("_")}


def test_domain_and_id_are_of_one_object_that_the_query_named() -> None:
    """A stream of the name of its table; and an object without an id beside the one that has it."""
    stream, table = read("stream/8", "A", name="N"), read("table/2", "A", "B", name="N", access="BASE")
    unknown = Access("DIRECT", ObjectReference("table/name/N", "table", "TABLE", None, "N"))
    for accesses, first in (((stream, table), ("STREAM", "8")), ((table, unknown), ("TABLE", "2"))):
        for each in (accesses, accesses[::-1]):
            told = complete(Content(accesses=each))["inputs"][0]["inputFacets"]["accessHistory_access"]
            assert (told["objectDomain"], told["objectId"]) == first
            assert told["objects"][0]["objectId"] == first[1]
            assert len(told["objects"]) == 2


def test_objects_of_one_name_are_one_output_with_each_of_them() -> None:
    writes = (Write(thing("table/9", name="N"), (Column("A"),)), Write(thing("table/8", name="N"), (Column("B"),)))
    told = complete(Content(writes=writes))["outputs"][0]["outputFacets"]["accessHistory_write"]
    assert (told["objectId"], told["columns"]) == ("8", ["A", "B"])
    assert [(one["objectId"], one["columns"]) for one in told["objects"]] == [("8", ["B"]), ("9", ["A"])]


def test_a_column_with_two_ids_is_told_once() -> None:
    access = Access("DIRECT", thing("table/1"), (Column("A", "1"), Column("A", "2")))
    (one,) = complete(Content(accesses=(access,)))["inputs"]
    assert one["inputFacets"]["accessHistory_access"]["columns"] == ["A"]


# --- outputs ----------------------------------------------------------------------------------------------------------


def lineage(output: Json) -> dict[str, list[tuple[str, str, list[str]]]]:
    fields = output["facets"]["columnLineage"]["fields"]
    return {
        column: [
            (one["name"], one["field"], [kind.get("description", "direct") for kind in one["transformations"]])
            for one in told["inputFields"]
        ]
        for column, told in fields.items()
    }


def test_a_source_is_told_once_as_direct_base_or_both() -> None:
    source, other = thing("table/1"), thing("table/2")
    told = (
        derived("A", source, "X"),
        derived("A", source, "X", "BASE"),
        derived("A", thing("table/7", name="T1"), "X"),
        derived("A", other, "Y", "BASE"),
        derived("A", other, "Z"),
        derived("B", other, "Z", "BASE"),
    )
    both = ["direct", "base source"]
    for derivations in permutations(told, len(told)):
        found = complete(Content(writes=(write("table/9", "A", "B"),), derivations=derivations))
        assert lineage(found["outputs"][0]) == {
            "A": [("T1", "X", both), ("T2", "Y", ["base source"]), ("T2", "Z", ["direct"])],
            "B": [("T2", "Z", ["base source"])],
        }


def test_each_branch_of_an_insert_all_has_its_own_sources() -> None:
    accesses, writes = (read("table/1"), read("table/2")), (write("table/8", "A"), write("table/9", "A"))
    derivations = (
        derived("A", thing("table/1"), "X", target="table/8"),
        derived("A", thing("table/2"), "X", target="table/9"),
    )
    outputs = complete(Content(accesses=accesses, writes=writes, derivations=derivations))["outputs"]
    assert [names(one["facets"]["lineage"]["inputs"]) for one in outputs] == [["T1"], ["T2"]]
    assert [[name for name, _, _ in lineage(one)["A"]] for one in outputs] == [["T1"], ["T2"]]
    without = complete(Content(accesses=accesses, writes=writes))["outputs"]
    assert [names(one["facets"]["lineage"]["inputs"]) for one in without] == [["T1", "T2"]] * 2


def test_what_is_written_as_two_objects_of_one_name_is_one_output_with_the_sources_of_both() -> None:
    writes = (write("table/8", "A"), replace(write("table/9", "B"), thing=thing("table/9", "T8")))
    derivations = (
        derived("B", thing("table/1"), "Z", target="table/8"),
        derived("A", thing("table/1"), "X", target="table/9"),
        derived("A", thing("table/1"), "Y", target="table/8"),
    )
    (one,) = complete(Content(writes=writes, derivations=derivations))["outputs"]
    assert one["outputFacets"]["accessHistory_write"]["columns"] == ["A", "B"]
    assert [field for _, field, _ in lineage(one)["A"]] == ["X", "Y"]
    assert list(one["facets"]["lineage"]["fields"]) == ["A", "B"]


def test_a_column_made_by_a_routine_has_that_in_a_facet_of_its_own() -> None:
    routine = thing("function/4", signature="(X NUMBER)", data_type="NUMBER")
    derivations = (derived("A", routine, None), derived("A", thing("table/1"), None), derived("A", routine, "X"))
    found = complete(Content(writes=(write("table/9", "A"),), derivations=derivations))
    facets = found["outputs"][0]["facets"]
    told = {
        "name": "F4",
        "argumentSignature": "(X NUMBER)",
        "kind": "function",
        "objectId": "4",
        "dataType": "NUMBER",
        "sourceType": "DIRECT",
    }
    assert facets["accessHistory_columnRoutines"]["fields"] == {"A": [told, told]}
    assert "columnLineage" not in facets
    assert "fields" not in facets["lineage"]
    assert names(found["inputs"]) == ["T1"]


def test_a_source_without_a_column_is_an_input_and_what_the_output_was_made_from() -> None:
    """A stage has no columns in rows; the documents list it as a source all the same."""
    for kind in ("DIRECT", "BASE"):
        for source in (thing("stage/3"), thing("table/4")):
            derivations = (derived("A", source, None, kind),)
            found = complete(Content(writes=(write("table/9", "A"),), derivations=derivations))
            assert names(found["inputs"]) == [source.name]
            told = without_head(found["inputs"][0]["inputFacets"]["accessHistory_access"])
            assert told == {"accesses": ["SOURCE"], "columns": []}
            assert found["inputs"][0]["facets"] == {"dataSource": {"name": "x"}}
            facets = found["outputs"][0]["facets"]
            assert names(facets["lineage"]["inputs"]) == [source.name]
            assert "fields" not in facets["lineage"]
            assert "columnLineage" not in facets
            assert found["job"]["name"] == f"write T9 from {source.name} [" + found["job"]["name"][-11:]


def test_of_several_outputs_each_has_its_own_source_without_a_column() -> None:
    derivations = (
        derived("A", thing("stage/3"), None, target="table/9"),
        derived("A", thing("table/1"), "X", target="table/8"),
        derived("A", thing("table/1"), None, target="table/8"),
    )
    found = complete(Content(writes=(write("table/8", "A"), write("table/9", "A")), derivations=derivations))
    made_from = {one["name"]: names(one["facets"]["lineage"]["inputs"]) for one in found["outputs"]}
    assert made_from == {"T8": ["T1"], "T9": ["S3"]}
    assert names(found["inputs"]) == ["T1", "S3"]
    assert found["inputs"][0]["inputFacets"]["accessHistory_access"]["columns"] == ["X"]


def test_what_holds_no_data_is_no_input_and_no_output_but_among_the_routines() -> None:
    """docs/openlineage.md, "Datasets, and what is none"."""
    function = thing("function/5", "F", signature="(X NUMBER)", data_type="NUMBER")
    found = complete(
        Content(
            accesses=(read("sequence/6"), read("table/1", "A"), read("listing/7", "A")),
            writes=(Write(function), write("table/9", "A")),
            derivations=(derived("A", function, None), derived("A", thing("sequence/6"), None)),
        )
    )
    assert (names(found["inputs"]), names(found["outputs"])) == (["L7", "T1"], ["T9"])
    routines = found["run"]["facets"]["accessHistory_routines"]["routines"]
    assert [(one["name"], one["kind"], one["accesses"]) for one in routines] == [
        ("F", "function", ["WRITE"]),
        ("S6", "sequence", ["DIRECT"]),
    ]
    made_by = found["outputs"][0]["facets"]["accessHistory_columnRoutines"]["fields"]["A"]
    assert [(one["name"], one["kind"]) for one in made_by] == [("F", "function"), ("S6", "sequence")]
    described = found["job"]["facets"]["documentation"]["description"]
    assert described == "write T9 from L7, T1, calling F(X NUMBER), also sequence S6"


@pytest.mark.parametrize("kind", ["semantic-view", "model", "interactive-table"])
def test_what_is_not_known_to_hold_no_data_is_an_output_where_it_changes(kind: str) -> None:
    key = f"{kind}/9"
    tag = ("tags", {"element": "G", "element_key": "tag/1", "sub_operation": "ADD", "value": "v"})
    on = replace(setting(tag[0], **tag[1]), object_key=key)
    change = replace(CHANGE, thing=thing(key, "N"), operation="CREATE", settings=(on,))
    found = complete(Content(accesses=(read("table/1"),), changes=(change,)), tags={key: [("G", "v", None)]})
    (one,) = found["outputs"]
    assert one["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert one["facets"]["tags"]["tags"] == [{"key": "G", "value": "v", "source": "SNOWFLAKE"}]
    assert found["job"]["facets"]["documentation"]["description"] == "create N from T1"
    renamed = complete(Content(changes=(replace(change, operation="ALTER", new_name="M", settings=()),)))
    states = {one["name"]: one["facets"]["lifecycleStateChange"] for one in renamed["outputs"]}
    assert {name: one["lifecycleStateChange"] for name, one in states.items()} == {"N": "DROP", "M": "RENAME"}
    assert states["M"]["previousIdentifier"]["name"] == "N"


def test_the_routines_of_a_column_are_in_the_order_of_their_names() -> None:
    routines = [thing(f"function/{number}", name) for number, name in ((1, "B"), (2, "A"))]
    derivations = tuple(derived("A", one, None) for one in routines)
    (one,) = complete(Content(writes=(write("table/9", "A"),), derivations=derivations))["outputs"]
    assert names(one["facets"]["accessHistory_columnRoutines"]["fields"]["A"]) == ["A", "B"]


def test_an_only_output_was_made_from_all_inputs() -> None:
    """A filter's columns are no source, and what they are of is an input all the same."""
    accesses, derivations = (read("table/1"), read("table/2")), (derived("A", thing("table/1"), "X"),)
    (one,) = complete(Content(accesses, (write("table/9", "A"),), derivations))["outputs"]
    assert names(one["facets"]["lineage"]["inputs"]) == ["T1", "T2"]


def test_ddl_makes_no_data_so_there_is_no_lineage() -> None:
    (one,) = complete(Content(accesses=(read("table/1"),), changes=(CHANGE,)))["outputs"]
    assert one["outputFacets"]["accessHistory_write"]["accesses"] == ["DDL"]
    assert "lineage" not in one["facets"]
    assert one["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "ALTER"


@pytest.mark.parametrize(
    ("operation", "state"),
    [("CREATE", "CREATE"), ("REPLACE", "OVERWRITE"), ("DROP", "DROP"), ("UNDROP", None), ("REFRESH", None)],
)
def test_a_change_has_a_state_where_one_fits(operation: str, state: str | None) -> None:
    (one,) = complete(Content(changes=(replace(CHANGE, operation=operation),)))["outputs"]
    assert one["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") == state


@pytest.mark.parametrize("operation", ["DESCRIBE", "SHOW", "GRANT", "SUSPEND"])
def test_what_changes_no_dataset_makes_no_output(operation: str) -> None:
    found = complete(Content(changes=(replace(CHANGE, operation=operation, new_name="N"),)))
    assert found["outputs"] == []
    assert found["job"]["name"].startswith(f"{operation.lower()} table T9")


def test_a_rename_makes_the_new_name_and_ends_the_old() -> None:
    rename = replace(CHANGE, new_name="T10")
    found = complete(Content(changes=(rename,)))
    new, old = found["outputs"]
    assert (new["name"], old["name"]) == ("T10", "T9")
    state = new["facets"]["lifecycleStateChange"]
    assert state["lifecycleStateChange"] == "RENAME"
    assert state["previousIdentifier"] == {"namespace": NS, "name": "T9"}
    assert old["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"
    assert found["job"]["name"].startswith("rename T9 to T10 [")


SWAP = replace(CHANGE, swap_key="table/8", swap_domain="TABLE", swap_id="8", swap_name="T8")
BACK = replace(
    SWAP, change_key="alter/table/8", thing=thing("table/8"), swap_key="table/9", swap_id="9", swap_name="T9"
)


@pytest.mark.parametrize("changes", [(SWAP,), (BACK,), (SWAP, BACK)], ids=["first row", "second row", "both"])
def test_a_swap_is_one_job_with_both_tables_whichever_of_its_rows_is_there(changes: tuple[Change, ...]) -> None:
    found = complete(Content(changes=changes))
    told = [(one["name"], one["facets"]["lifecycleStateChange"]["lifecycleStateChange"]) for one in found["outputs"]]
    assert told == [("T8", "ALTER"), ("T9", "ALTER")]
    assert [one["outputFacets"]["accessHistory_write"]["objectId"] for one in found["outputs"]] == ["8", "9"]
    name = complete(Content(changes=(SWAP, BACK)))["job"]["name"]
    assert found["job"]["name"] == name
    assert name.startswith("swap T8 with T9 [")


def test_a_swap_with_another_change_is_no_swap_alone() -> None:
    created = replace(CHANGE, change_key="create/table/7", thing=thing("table/7"), operation="CREATE")
    assert complete(Content(changes=(SWAP, created)))["job"]["name"].startswith("alter T7 + 2")


def test_of_two_renames_each_has_its_own_former_name() -> None:
    changes = [
        replace(CHANGE, change_key=key, thing=thing(key), new_name=f"N{key[-1]}") for key in ("table/8", "table/9")
    ]
    outputs = complete(Content(changes=tuple(changes)))["outputs"]
    former = {one["name"]: one["facets"]["lifecycleStateChange"].get("previousIdentifier") for one in outputs}
    assert {new: old["name"] for new, old in former.items() if old} == {"N8": "T8", "N9": "T9"}


def test_a_rename_to_the_name_that_it_has_was_nothing_else_before() -> None:
    (one,) = complete(Content(changes=(replace(CHANGE, new_name="t9"),)), named={"t9": "T9"})["outputs"]
    told = one["facets"]["lifecycleStateChange"]
    assert told["lifecycleStateChange"] == "RENAME"
    assert "previousIdentifier" not in told


def test_the_rows_of_a_query_are_told_where_it_writes_one_dataset() -> None:
    history = History(rows_inserted=2)
    one = complete(Content(writes=(write("table/9"),), changes=(replace(CHANGE, thing=thing("table/2")),)), history)
    assert [output["outputFacets"].get("outputStatistics", {}).get("rowCount") for output in one["outputs"]] == [
        None,
        2,
    ]
    two = complete(Content(writes=(write("table/8"), write("table/9"))), history)
    assert not [output for output in two["outputs"] if "outputStatistics" in output["outputFacets"]]
    no_history = complete(Content(writes=(write("table/9"),)))
    assert "outputStatistics" not in no_history["outputs"][0]["outputFacets"]


@pytest.mark.parametrize(
    ("inserted", "updated", "deleted", "produced", "expected"),
    [
        (None, None, None, None, None),
        (None, None, None, 7, 7),
        (0, 0, 0, 7, 7),
        (2, 3, 1, 7, 5),
        (None, 3, None, 7, 3),
        (0, None, 4, 7, 0),
    ],
)
def test_rows_written_are_those_that_changed_else_those_that_came_out(
    inserted: int | None, updated: int | None, deleted: int | None, produced: int | None, expected: int | None
) -> None:
    history = History(rows_inserted=inserted, rows_updated=updated, rows_deleted=deleted, rows_produced=produced)
    assert rows_written(history) == expected


# --- changes ----------------------------------------------------------------------------------------------------------


def tags_of(output: Json) -> list[tuple[str, str, str | None]] | None:
    facet = output["facets"].get("tags")
    return facet and [(tag["key"], tag["value"], tag.get("field")) for tag in facet["tags"]]


def test_an_output_has_the_tags_that_are_in_force_after_the_query() -> None:
    key = CHANGE.thing.key
    in_force = [("d.s.t", "b", None), ("d.s.t", "a", "C"), ('"q"', "", None)]
    for told in permutations(in_force):
        (one,) = complete(Content(changes=(CHANGE,)), tags={key: list(told)})["outputs"]
        assert one["facets"]["tags"]["tags"] == [
            {"key": '"q"', "value": "", "source": "SNOWFLAKE"},
            {"key": "D.S.T", "value": "a", "source": "SNOWFLAKE", "field": "C"},
            {"key": "D.S.T", "value": "b", "source": "SNOWFLAKE"},
        ]


def test_only_where_a_query_takes_the_last_tag_away_the_list_is_empty() -> None:
    unset = setting("tags", element="gone", value="x", sub_operation="DROP")
    (one,) = complete(Content(changes=(replace(CHANGE, settings=(unset,)),)))["outputs"]
    assert tags_of(one) == []
    (one,) = complete(Content(changes=(replace(CHANGE, settings=(setting("comment", value="c"),)),)))["outputs"]
    assert tags_of(one) is None


@pytest.mark.parametrize("has_ids", [True, False])
def test_after_a_swap_each_name_has_the_tags_of_the_table_that_it_means_then(*, has_ids: bool) -> None:
    """Without ids a name goes on to mean the same table, as in all later events."""
    swap = SWAP if has_ids else replace(SWAP, thing=replace(SWAP.thing, object_id=None), swap_id=None)
    found = complete(Content(changes=(swap,)), tags={"table/9": [("D.S.T", "x", None)]})["outputs"]
    tagged = [one["name"] for one in found if tags_of(one) == [("D.S.T", "x", None)]]
    assert tagged == (["T8"] if has_ids else ["T9"])


def test_a_change_tells_its_settings_and_grants_apart_from_what_has_a_field_of_its_own() -> None:
    settings = (
        setting("z", value="1"),
        setting("z", column_name="C", value="1"),
        setting("comment", value="c"),
        setting("comment", column_name="C", value="c"),
        setting("grant", value='{"PRIVILEGES":["B"]}'),
        setting("grant", value='{"PRIVILEGES":["A"],"ROLES":["R"]}'),
        setting("grant", value="no json"),
        setting("grant", value="{broken"),
        setting("revoke", element="e", value='{"PRIVILEGES":["B"]}'),
    )
    for told in (settings, settings[::-1]):
        run = complete(Content(changes=(replace(CHANGE, settings=told, comment="c", swap_name="S"),)))["run"]
        (change,) = run["facets"]["accessHistory_ddl"]["changes"]
        assert change == {
            "operation": "ALTER",
            "objectDomain": "TABLE",
            "objectId": "9",
            "objectName": "T9",
            "swapName": "S",
            "comment": "c",
            "properties": "{}",
            "settings": [
                {"property": "comment", "field": "C", "value": "c"},
                {"property": "grant", "value": "no json"},
                {"property": "revoke", "element": "e", "value": '{"PRIVILEGES":["B"]}'},
                {"property": "z", "value": "1"},
                {"property": "z", "field": "C", "value": "1"},
            ],
            "grants": [
                {"operation": "GRANT", "privileges": ["A"], "roles": ["R"]},
                {"operation": "GRANT", "privileges": ["B"]},
            ],
        }


def test_changes_are_in_the_order_of_what_they_do_and_to_what() -> None:
    policy = thing("masking-policy/3", name="P")
    changes = (
        replace(CHANGE, change_key="2", thing=policy, operation="DROP"),
        replace(CHANGE, change_key="1", operation="DROP"),
        replace(CHANGE, change_key="3", new_name="N"),
        replace(CHANGE, change_key="4", operation="CREATE", comment="b"),
        replace(CHANGE, change_key="5", operation="CREATE"),
    )
    for told in permutations(changes):
        found = complete(Content(changes=told))["run"]["facets"]["accessHistory_ddl"]["changes"]
        shown = [(one["operation"], one["objectName"], one.get("comment")) for one in found]
        assert shown == [
            ("CREATE", "T9", None),
            ("CREATE", "T9", "b"),
            ("DROP", "T9", None),
            ("DROP", "P", None),
            ("ALTER", "T9", None),
        ]


# --- the run ----------------------------------------------------------------------------------------------------------


def test_routines_are_told_once_with_all_the_ways_in_which_they_were_called() -> None:
    accesses = (
        read("procedure/1", name="P", signature="(X)"),
        read("procedure/1", name="P", signature="(X)", access="BASE"),
        read("procedure/2", name="P", signature="()"),
        read("procedure/3", name="P"),
    )
    found = complete(Content(accesses=accesses))
    told = found["run"]["facets"]["accessHistory_routines"]["routines"]
    assert [(one.get("argumentSignature"), one["accesses"]) for one in told] == [
        (None, ["DIRECT"]),
        ("()", ["DIRECT"]),
        ("(X)", ["BASE", "DIRECT"]),
    ]
    assert found["job"]["name"].startswith("call P + 2 [")
    assert found["inputs"] == []


def test_routines_that_look_alike_are_each_told() -> None:
    """One name and arguments: several ids, a function and a procedure, and several data types without an id."""
    alike = [read(f"procedure/{number}", name="P") for number in (2, 1)]
    function = ObjectReference("function/name/P", "function", "FUNCTION", None, "P", None, "NUMBER")
    accesses = (*alike, Access("BASE", function))
    content = Content(accesses=accesses, also_named=(replace(function, data_type="VARCHAR"),))
    found = complete(content)
    told = [without_none(one) for one in found["run"]["facets"]["accessHistory_routines"]["routines"]]
    assert told == [
        {"name": "P", "kind": "function", "dataType": "NUMBER", "accesses": ["BASE"]},
        {"name": "P", "kind": "function", "dataType": "VARCHAR", "accesses": ["BASE"]},
        {"name": "P", "kind": "procedure", "objectId": "1", "accesses": ["DIRECT"]},
        {"name": "P", "kind": "procedure", "objectId": "2", "accesses": ["DIRECT"]},
    ]
    assert found["job"]["facets"]["documentation"]["description"] == "call P"


def test_policies_and_joins_are_told_of_datasets_in_a_fixed_order() -> None:
    policies = tuple(
        PolicyReference(thing(key), column, None, "masking-policy/7", "MASKING_POLICY", "7", "P", provider)
        for key, column, provider in (("table/1", "A", True), ("table/1", None, False), ("table/0", "A", False))
    )
    joins = (
        Join(thing("table/1"), "LEFT_OUTER_JOIN", thing("table/3")),
        Join(thing("table/1"), "INNER_JOIN", thing("table/3")),
        Join(thing("table/1"), None, thing("table/2", account="OTHER")),
        Join(ObjectReference("table/0", "table"), "INNER_JOIN", thing("table/2")),
    )
    for way in (1, -1):
        facets = complete(Content(policies=policies[::way], joins=joins[::way]))["run"]["facets"]
        told = facets["accessHistory_policies"]["policies"]
        assert [(one["name"], one.get("field"), one["provider"]) for one in told] == [
            ("T0", "A", False),
            ("T1", None, False),
            ("T1", "A", True),
        ]
        pairs = facets["accessHistory_joins"]["joins"]
        assert [(one["left"]["name"], one.get("joinType"), one["right"]["name"]) for one in pairs] == [
            ("table/0", "INNER_JOIN", "T2"),
            ("T1", "INNER_JOIN", "T3"),
            ("T1", "LEFT_OUTER_JOIN", "T3"),
            ("T1", None, "T2"),
        ]


def test_agents_are_told_as_they_came_with_what_is_known_of_them() -> None:
    content = Content(agents=(Agent("B", None, "b"), Agent(None, None, None)))
    assert complete(content)["run"]["facets"]["accessHistory_query"]["agents"] == [{"type": "B", "name": "b"}, {}]
    assert "agents" not in complete(Content())["run"]["facets"]["accessHistory_query"]


def test_a_run_ends_when_query_history_says_but_not_before_it_began() -> None:
    for end, expected in ((None, 1), (3_000_000, 3), (500_000, 1)):
        events = run_events(query(Content(), History(end_time=end)), Answers(), DEFAULTS)
        assert [(event.type, event.time) for event in events] == [
            ("START", 1_000_000),
            ("COMPLETE", expected * 1_000_000),
        ]
        times = [json.loads(event.body)["eventTime"] for event in events]
        assert times == ["1970-01-01T00:00:01.000000Z", f"1970-01-01T00:00:0{expected}.000000Z"]


def test_a_statement_that_is_kept_tells_each_of_its_runs_the_same() -> None:
    content = Content(accesses=(read("table/1"),), writes=(write("table/9", "A"),), incomplete=("a TRUNCATED",))
    kept = statement(content, datasets(content), DEFAULTS)
    for history in (History(), History(rows_inserted=3, query_tag="t", end_time=2_000_000)):
        answers = Answers(datasets=datasets(content))
        one = query(content, history)
        assert events_of(one, kept, answers, DEFAULTS) == run_events(one, answers, DEFAULTS)


def test_an_output_that_is_written_has_the_query_as_its_version_and_another_has_none() -> None:
    """The text of the key in a column's name is no place for the facet."""
    found = complete(
        Content(writes=(write("table/9", '},"outputFacets":{'),), changes=(replace(CHANGE, thing=thing("table/8")),))
    )
    versions = {one["name"]: one["facets"].get("version", {}).get("datasetVersion") for one in found["outputs"]}
    assert versions == {"T9": "q", "T8": None}


@pytest.mark.parametrize(
    ("name", "domain", "expected"),
    [
        ("DB.S.T", "TABLE", "DB"),
        ('"my db".S.T', "VIEW", '"my db"'),
        ("DB.S.T", "ICEBERG TABLE", None),
        ("DB.S.T", None, None),
        ("T", "TABLE", None),
    ],
)
def test_the_catalog_is_the_database(name: str, domain: str | None, expected: str | None) -> None:
    told = facets.catalog(name, domain, NS, "urn:p").get("catalog", {})
    assert (told.get("name"), told.get("metadataUri")) == (expected, expected and NS)
