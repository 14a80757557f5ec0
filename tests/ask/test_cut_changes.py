"""Changes in which Snowflake cut a name, a number or a word: docs/input.md, "Rows that Snowflake truncated".

The answers that need the change say so, and nothing is named after what stands in the place of what was cut. Each story
is a separate account of one export; query ``qN`` starts at minute N, and the last one is cut.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import changed, copied, thing
from tests.openlineage import told as openlineage

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, B, C = thing("A", 9), thing("B", 10), thing("C", 11)
SHARE: Final[Json] = {"objectDomain": "Share", "objectId": 5, "objectName": "OUT"}
ON_A: Final[Json] = {
    "PRIVILEGES": ["SELECT"],
    "SECURABLE_OBJECT_DOMAIN": "Table",
    "SECURABLE_OBJECT_ID": 9,
    "SECURABLE_OBJECT_NAME": "D.S.A",
}
OBJECT_CUT: Final[Json] = {"SECURABLE_OBJECT_ID": -1, "SECURABLE_OBJECT_NAME": "TRUNCATED"}
IN_S: Final[Json] = {"SECURABLE_OBJECT_SCOPE": "D.S", "SECURABLE_OBJECT_SCOPE_DOMAIN": "Schema"}
CUT: Final = "cut by Snowflake (object_modified_by_ddl)"
_DDL: Final = "(object_modified_by_ddl"
NOT_UNDERSTOOD: Final = "not understood in full (object_modified_by_ddl"


def share(operation: str, given: Json | list[Json] | None = None) -> Json:
    """A GRANT or REVOKE of a share. Its value is JSON in a string, as in rows; None: it has no properties."""
    return changed(SHARE, operation, **({} if given is None else {operation.lower(): {"value": json.dumps(given)}}))


OPENED: Final = [changed(SHARE, accountsToSet={"value": ["O.ACC"]})]
GRANTED: Final = [*OPENED, share("GRANT", ON_A)]
GRANTS: Final[dict[str, tuple[list[Json], str]]] = {
    "object-of-a-grant": ([*OPENED, share("GRANT", {**ON_A, **OBJECT_CUT})], CUT),
    "privilege-of-a-grant": ([*OPENED, share("GRANT", {**ON_A, "PRIVILEGES": ["TRUNCATED"]})], CUT),
    "object-of-a-revoke": ([*GRANTED, share("REVOKE", {**ON_A, **OBJECT_CUT})], CUT),
    "object-in-a-schema": ([*GRANTED, share("REVOKE", {**ON_A, **OBJECT_CUT, **IN_S})], CUT),
    "id-of-a-revoke": ([*GRANTED, share("REVOKE", {**ON_A, "SECURABLE_OBJECT_ID": -1})], CUT),
    "privilege-of-a-revoke": ([*GRANTED, share("REVOKE", {**ON_A, "PRIVILEGES": ["TRUNCATED"]})], CUT),
    "one-privilege-of-a-revoke": (
        [*GRANTED, share("REVOKE", {**ON_A, "PRIVILEGES": ["USAGE", "TRUNCATED"]})], CUT,
    ),
    "one-of-two-revokes": ([*GRANTED, share("REVOKE", [{"ROLES": ["D.R"]}, {**ON_A, **OBJECT_CUT}])], CUT),
    "accounts": ([*GRANTED, changed(SHARE, accountsToRemove={"value": '["TRUNCATED"]'})], CUT),
    "accounts-to-set": ([*GRANTED, changed(SHARE, accountsToSet={"value": "TRUNCATED"})], CUT),
    "one-of-the-accounts-to-set": ([*GRANTED, changed(SHARE, accountsToSet={"value": ["O.NEW", "TRUNCATED"]})], CUT),
    "no-kind": ([*OPENED, share("GRANT", {**ON_A, "SECURABLE_OBJECT_DOMAIN": ""})], NOT_UNDERSTOOD),
    "no-name": ([*OPENED, share("GRANT", {**ON_A, "SECURABLE_OBJECT_NAME": " "})], NOT_UNDERSTOOD),
    "no-privilege": ([*OPENED, share("GRANT", {**ON_A, "PRIVILEGES": [""]})], NOT_UNDERSTOOD),
    "one-privilege-missing": ([*OPENED, share("GRANT", {**ON_A, "PRIVILEGES": ["SELECT", ""]})], NOT_UNDERSTOOD),
    "empty-account": ([*GRANTED, changed(SHARE, accountsToRemove={"value": [""]})], NOT_UNDERSTOOD),
    "empty-account-to-set": ([*GRANTED, changed(SHARE, accountsToSet={"value": ["O.NEW", ""]})], NOT_UNDERSTOOD),
    "revoke-without-properties": ([*GRANTED, share("REVOKE")], NOT_UNDERSTOOD),
    "revoke-of-nothing": ([*GRANTED, changed(SHARE, "REVOKE", revoke={"value": None})], NOT_UNDERSTOOD),
    "second-of-two-revokes": (
        [*GRANTED, share("REVOKE", [{"ROLES": ["D.R"]}, {"PRIVILEGES": ["SELECT"]}])], NOT_UNDERSTOOD,
    ),
}  # fmt: skip


def made_from(**source: Any) -> Json:
    return changed(B, "CREATE", **{f"cloneSource{name}": {"value": value} for name, value in source.items()})


CLONES: Final[dict[str, tuple[list[Json], bool]]] = {
    "source-cut": ([copied(A, C), made_from(Name="TRUNCATED", Id=-1, Domain="TRUNCATED")], True),
    "properties-cut": ([copied(A, C), {"object_modified_by_ddl": {**B, "operationType": "CREATE",
                                                                  "properties": "TRUNCATED"}}], True),
    "source-known": ([copied(A, C), made_from(Name="D.S.A", Id=9, Domain="Table")], False),
    "columns-cut": ([copied(A, C), changed(B, "CREATE", columns="TRUNCATED")], False),
    "other-change-cut": ([copied(A, C), changed(B, columns="TRUNCATED")], False),
}  # fmt: skip
"""The story, and whether it may have a CLONE of anything."""
ADD: Final[Json] = {"objectId": {"value": 3}, "subOperationType": "ADD", "tagValue": {"value": "v"}}


def on_c(**properties: Any) -> Json:
    return changed(A, columns={"C": properties})


TAGGED: Final = [on_c(tags={"G.T.X": ADD})]
TAGS: Final[dict[str, tuple[list[Json], str, list[tuple[str, str]]]]] = {
    "value": ([on_c(tags={"G.T.X": {**ADD, "tagValue": {"value": "TRUNCATED"}}})], "G.T.X", [("ADD", "")]),
    "name": ([on_c(tags={"TRUNCATED": {**ADD, "objectId": {"value": -1}}})], "", []),
    "name-in-a-list": (
        [changed(A, columns=[{"objectName": "C", "tags": [{"objectName": "TRUNCATED", "objectId": -1}]}])], "", [],
    ),
    "name-of-another": ([*TAGGED, on_c(tags={"TRUNCATED": {**ADD, "objectId": {"value": -1}}})], "G.T.X=v",
                        [("ADD", "v")]),
    # The id says which one is unset.
    "name-with-an-id": (
        [*TAGGED, on_c(tags={"TRUNCATED": {"objectId": {"value": 3}, "subOperationType": "DROP"}})], "",
        [("ADD", "v"), ("DROP", "")],
    ),
    "encoded-twice": ([on_c(tags=json.dumps({"TRUNCATED": {**ADD, "objectId": {"value": -1}}}))], "", []),
    # Whether it is set or unset then is not known: what was set holds.
    "operation": (
        [*TAGGED, on_c(tags={"G.T.X": {"objectId": {"value": 3}, "subOperationType": "TRUNCATED"}})], "G.T.X=v",
        [("ADD", "v")],
    ),
    "operation-with-a-value": (
        [*TAGGED, on_c(tags={"G.T.X": {**ADD, "subOperationType": "TRUNCATED", "tagValue": {"value": "w"}}})],
        "G.T.X=w", [("", "w"), ("ADD", "v")],
    ),
}  # fmt: skip
"""The story, the tags of the column C of A afterwards, and operation and value of each row of tag-history."""


NONE: Final[dict[str, list[tuple[str, str]]]] = {"name-with-an-id": []}


def of_a(operation: str = "ALTER", **properties: Any) -> list[Json]:
    return [copied(A, C), changed(A, operation, **properties)]


ALL_CUT: Final[Json] = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
NAMES: Final[dict[str, tuple[list[Json], bool]]] = {
    "name-by-swap": (of_a(swapTargetName={"value": "TRUNCATED"}, swapTargetId={"value": -1}), True),
    "new-name": (of_a(objectName={"value": "TRUNCATED"}), True),
    "name-in-properties": ([copied(A, C), {"object_modified_by_ddl": {**A, "operationType": "ALTER",
                                                              "properties": "TRUNCATED"}}], True),
    "operation-on-a-name": (of_a("TRUNCATED"), True),
    "what-is-dropped": ([copied(A, C), changed({**ALL_CUT, "objectDomain": "Table"}, "DROP")], True),
    "all-of-it": ([copied(A, C), {"object_modified_by_ddl": ALL_CUT}], True),
    "name-of-a-tag": (of_a(tags={"TRUNCATED": {**ADD, "objectId": {"value": -1}}}), False),
    "comment-on-a-name": (of_a(comment={"value": "TRUNCATED"}), False),
    "name-whole": (of_a(objectName={"value": "D.S.B"}), False),
}  # fmt: skip
"""The story, and whether what is cut may have dropped A, or given it another name."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Store:
    every = {name: each[0] for name, each in (*GRANTS.items(), *CLONES.items(), *TAGS.items(), *NAMES.items())}
    return stories.told(every, tmp_path_factory.mktemp("cut"))


@pytest.mark.parametrize("name", CLONES)
def test_answers_about_lineage_say_that_the_source_of_a_clone_was_cut(name: str, told: Store) -> None:
    for question, given in (
        ("lineage-as-of", {"object_name": "D.S.B", "at": "2026-01-02"}),
        ("column-copies", {"object_name": "D.S.A", "column_name": "C"}),
        ("root-cause", {"object_name": "D.S.B", "column_name": "C"}),
        ("downstream-users", {"object_name": "D.S.A"}),
    ):
        notes = ask(stories.of(name, told), find(question), given).notes
        may_rename = name == "other-change-cut" and question == "root-cause"  # the columns of B were cut
        is_told = CLONES[name][1] or may_rename
        assert any(one.startswith("1 query was") and CUT in one for one in notes) == is_told, (question, notes)
    later = {"object_name": "D.S.B", "at": "2025-12-31"}
    assert CUT not in str(ask(stories.of(name, told), find("lineage-as-of"), later).notes)


@pytest.mark.parametrize("name", NAMES)
def test_answers_about_a_name_say_that_it_may_mean_something_else(name: str, told: Store) -> None:
    for question, given in (
        ("who-accessed", {"object_name": "D.S.A"}),
        ("who-accessed", {"object_name": "D.S.A", "since": "2026-01-02"}),
        ("writers", {"object_name": "D.S.C"}),
        ("lineage-as-of", {"object_name": "D.S.A", "at": "2026-01-02"}),
        ("downstream-users", {"object_name": "D.S.A"}),
        ("unused-objects", {"since": "2026-01-02"}),
    ):
        notes = ask(stories.of(name, told), find(question), given).notes
        assert any(one.startswith("1 query was") and _DDL in one for one in notes) == NAMES[name][1], (question, notes)
    earlier = {"object_name": "D.S.A", "until": "2025-12-31"}
    assert _DDL not in str(ask(stories.of(name, told), find("who-accessed"), earlier).notes)


@pytest.mark.parametrize("name", TAGS)
def test_no_tag_and_no_value_is_what_stands_for_a_cut_one(name: str, told: Store) -> None:
    _, tags, history = TAGS[name]
    store = stories.of(name, told)
    covered = ask(store, find("policy-coverage"), {"object_name": "D.S.A"})
    asked_for = {"object_name": "D.S.A", "column_name": "C"}
    changes = ask(store, find("tag-history"), asked_for)
    assert "".join(row["tags"] or "" for row in covered.dicts()) == tags
    assert sorted((row["operation"] or "", row["value"] or "") for row in changes.dicts()) == history
    assert all(CUT in str(answer.notes) for answer in (covered, changes))


@pytest.mark.parametrize("name", TAGS)
def test_the_tags_of_the_output_are_those_that_are_known(name: str) -> None:
    """docs/openlineage.md: an empty list says that the query unsets a tag and that none is left."""
    story, tags, _ = TAGS[name]
    begun = [
        {**row, "query_id": f"q{number}", "query_start_time": f"2026-01-01T00:0{number}:00Z", "user_name": "ETL"}
        for number, row in enumerate(story)
    ]
    events = [json.loads(text) for text in openlineage.texts(begun)]
    (last,) = [
        one
        for one in events
        if one.get("eventType") == "COMPLETE"
        and one["run"]["facets"]["externalQuery"]["externalQueryId"] == f"q{len(story) - 1}"
    ]
    facet = last["outputs"][0]["facets"].get("tags")
    key, _, value = tags.partition("=")
    assert (facet and [(one["key"], one["value"]) for one in facet["tags"]]) == (
        [(key, value)] if tags else NONE.get(name)
    )


@pytest.mark.parametrize("name", GRANTS)
def test_a_grant_or_revoke_that_was_cut_is_not_taken_in_silence(name: str, told: Store) -> None:
    story, note = GRANTS[name]
    store = stories.of(name, told)
    for question, given in (
        ("exposure", {}),
        ("exposure", {"object_name": "D.S.A"}),
        ("changes", {"since": "2026-01-01"}),
    ):
        answer = ask(store, find(question), given)
        assert any(one.startswith("1 query was") and note in one for one in answer.notes), (question, answer.notes)
        assert f"the first is q{len(story)}" in str(answer.notes)
        assert "TRUNCATED" not in str(answer.rows)


@pytest.mark.parametrize("name", [name for name, (story, _) in GRANTS.items() if story[: len(GRANTED)] == GRANTED])
def test_what_was_cut_takes_no_grant_back(name: str, told: Store) -> None:
    """Which one it was cannot be known: the note says it."""
    rows = ask(stories.of(name, told), find("exposure"), {"object_name": "D.S.A"}).dicts()
    assert {(row["object_name"], row["privilege"], row["grantee"]) for row in rows} >= {
        ("D.S.A", "SELECT", "OUT"),
        ("D.S.A", "SELECT", "O.ACC"),
    }


def test_grants_that_are_whole_are_complete(told: Store) -> None:
    for name in GRANTS:
        of_queries = stories.of(name, told).quads_for_pattern(None, None, None)
        lacking = {quad.subject.value for quad in of_queries if quad.predicate.value.endswith("#incomplete")}
        assert [iri.rsplit("/", 1)[1] for iri in lacking] == [f"q{len(GRANTS[name][0])}"]
