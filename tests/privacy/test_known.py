"""The user names in a record: all of them, and no other words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.errors import UsageError
from exporter.input.reading import Record
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.screen import Screen
from tests.input.bad_rows import GOOD

SCREEN = Screen(Filters(), Key(b"a key of 24 bytes, ASCII"), query_text=True)


def told(text: str, *, is_history: bool = False) -> set[str]:
    return set(SCREEN.users_in(Record("/f", 0, "line", text, is_history=is_history))) - {GOOD["user_name"], ""}


def of_row(**columns: Any) -> set[str]:
    return told(json.dumps({**GOOD, **columns}))


def of_sql(text: str) -> set[str]:
    return told(json.dumps({"query_id": "q", "query_text": text}), is_history=True)


STAGE = {"objectDomain": "Stage", "objectId": "A", "objectName": "B", "stageKind": "User"}


TABLE = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "operationType": "ALTER"}
USER = {"objectDomain": "User", "objectId": 1, "objectName": "OLD", "operationType": "ALTER"}
MORE = "additional_properties", "column_of_next_year"
NEW_NAMES: tuple[Any, ...] = (
    *({"objectName": {"value": "NEW"}}, {"objectName": "NEW"}, [{"objectName": "NEW"}]),
    *('{"objectName": "NEW"}', {"loginName": {"value": "NEW"}}, {"EMAIL": "NEW"}),
)
GRANTS: tuple[Any, ...] = (
    {"PRIVILEGES": ["OWNERSHIP"], "SECURABLE_OBJECT_DOMAIN": "USER", "SECURABLE_OBJECT_NAME": "ANN"},
    {"value": {"privileges": ["OWNERSHIP"], "securableObjectDomain": "User", "securableObjectName": "ANN"}},
    {"ROLES": ["R"], "GRANTEE_DOMAIN": "USER", "GRANTEE_NAME": "ANN"},
    {"ROLES": ["R"], "GRANTEE_DOMAIN": {"value": "USER"}, "GRANTEE": {"value": "ANN"}},
    {"value": '{"ROLES": ["R"], "USERS": ["ANN"]}'},
    {"PRIVILEGES": ["USAGE"], "USERS": "ANN"},
    {"PRIVILEGES": ["USAGE"], "USERS": '["ANN"]'},
)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"user_name": "jane.doe@example.com"}, {"jane.doe@example.com"}),
        ({"objects_modified": [STAGE]}, {"A", "B"}),
        ({"objects_modified": json.dumps([STAGE])}, {"A", "B"}),
        ({"objects_modified": json.dumps(json.dumps([STAGE]))}, {"A", "B"}),
        ({"objects_modified": [{**STAGE, "objectId": 123, "objectName": "@~C"}]}, {"123", "C"}),
        ({"objects_modified": [{**STAGE, "stageKind": "Table"}]}, set()),
        ({"base_objects_accessed": [{"objectDomain": "USER", "objectName": "A"}]}, {"A"}),
        ({"base_objects_accessed": [{"objectDomain": "Table", "objectName": "USER$ANN.PUBLIC.T"}]}, {"ANN"}),
        ({"base_objects_accessed": [{"objectDomain": "Database", "objectName": "USER$ANN"}]}, {"ANN"}),
        ({"base_objects_accessed": [{"objectDomain": "Table", "objectName": '"USER$ann.b".P.T'}]}, {"ann.b"}),
        ({"base_objects_accessed": [{"objectDomain": "Table", "objectName": "D.S.USER$ID"}]}, set()),
        ({"invoker_identity": "ANN"}, {"ANN"}),
        ({"invoker_identity": '"ANN"'}, {"ANN"}),
        ({"invoker_identity": {"type": "USER", "name": "ANN"}}, {"ANN"}),
        ({"invoker_identity": {"type": "ROLE", "name": "ANALYST", "userName": "ANN", "email": "a@b"}}, {"ANN", "a@b"}),
        ({"invoker_identity": {"type": "ROLE", "name": "ANALYST"}}, set()),
        ({"invoker_identity": 7}, {"7"}),
        ({"invoker_identity": ["ANN", {"name": "BOB"}]}, {"ANN", "BOB"}),
        ({"user_name": ["ANN"]}, {'["ANN"]', "ANN"}),
        ({"user_name": {"name": "ANN"}}, {'{"name":"ANN"}', "ANN"}),
        ({"user_name": 44.5}, {"44.5"}),
        ({"column_of_next_year": {"note": "the user ANN"}}, set()),
        *(({"object_modified_by_ddl": {**USER, "properties": new}}, {"OLD", "NEW"}) for new in NEW_NAMES),
        ({"object_modified_by_ddl": json.dumps({**USER, "properties": NEW_NAMES[0]})}, {"OLD", "NEW"}),
        ({"object_modified_by_ddl": {**USER, "properties": {"tags": [{"objectName": "D.S.TAG"}]}}}, {"OLD"}),
        ({"object_modified_by_ddl": {**TABLE, "properties": {"objectName": {"value": "USER"}}}}, set()),
        *(({"object_modified_by_ddl": {**TABLE, "properties": {"grant": to}}}, {"ANN"}) for to in GRANTS),
        ({"object_modified_by_ddl": {**TABLE, "properties": {"grant": {"USERS": ["A", "b"], "ROLES": 0}}}}, {"A", "b"}),
        ({"object_modified_by_ddl": {**TABLE, "properties": {"columns": {"USERS": {"objectId": 1}}}}}, set()),
        ({"additional_properties": {"users": ["many"], "domain": "user"}}, set()),
        *(({name: {"of": "USER$ANN"}}, {"ANN"}) for name in MORE),
        *(({name: json.dumps({"of": [{"objectDomain": "USER", "objectName": "ANN"}]})}, {"ANN"}) for name in MORE),
    ],
)
def test_rows(columns: Any, names: set[str]) -> None:
    assert of_row(**columns) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("CREATE USER ann PASSWORD = 'x'", {"ANN"}),
        ('create or replace user if not exists "ann"', {"ann"}),
        ("ALTER USER SET x = 1", set()),
        ("use role r; DROP USER IF EXISTS ann;", {"ANN"}),
        ("GRANT ROLE analyst TO USER ann", {"ANN"}),
        ('revoke database role "D".r from user "a.b"', {"a.b"}),
        ("SELECT * FROM USER$ANN.PUBLIC.T, t.USER$ID", {"ANN"}),
        ("-- give it to user data, from user input\nSELECT user FROM user", set()),
        ("PUT file:///x @~/staged", set()),
        ("create /* c */ user /* d */ ann -- e", {"ANN"}),
        ("-- who\nCREATE USER -- new\n ann", {"ANN"}),
        ("grant role r/**/to user/*x*y*/ann", {"ANN"}),
        ('ALTER USER IF EXISTS ann RENAME TO "bob"', {"ANN", "bob"}),
        ("SELECT '--', \"/*\" -- it's\n; // its\ndrop user ann", {"ANN"}),
        ("alter user ann /* c */ rename\n to bob; alter table t rename to c", {"ANN", "BOB"}),
        ("CREATE USER IDENTIFIER('ann') PASSWORD = 'x'", {"ANN"}),
        ("ALTER USER identifier ( '\"ann\"' ) SET x = 1", {"ann"}),
        ("ALTER USER IDENTIFIER('\"jane.doe@a.com\"') RENAME TO IDENTIFIER('bob')", {"jane.doe@a.com", "BOB"}),
        ("DROP USER IDENTIFIER('\"O''Brien\"')", {"O'Brien"}),
        ("GRANT ROLE IDENTIFIER('r') TO USER IDENTIFIER('ann')", {"ANN"}),
        ("begin create user ann; end", {"ANN"}),
        ("begin let x := 1; if (x = 1) then drop user ann; else alter user bob set x = 1; end if; end", {"ANN", "BOB"}),
        ("execute immediate 'create user ann password = 1'", {"ANN"}),
        ("EXECUTE IMMEDIATE $$\n begin\n create user ann; end $$", {"ANN"}),
        ("execute immediate $$drop user ann$$", {"ANN"}),
        ("execute immediate 'create user \"O''Brien\"'", {"O''Brien", "O'Brien"}),
        ("GRANT OWNERSHIP ON USER ann TO ROLE r", {"ANN"}),
        ('revoke monitor, modify on user "a.b" from role r', {"a.b"}),
        ("GRANT SELECT ON TABLE d.s.t TO USER ann", {"ANN"}),
        ("SHOW GRANTS TO USER ann; show grants on user bob", {"ANN", "BOB"}),
        ("show parameters like 'a%' for user ann", {"ANN"}),
        ("create task t execute as user ann as select 1", {"ANN"}),
        ("comment on table t is 'create user data'; select 'grant it to user data'", set()),
        ("GRANT OWNERSHIP ON TABLE t TO ROLE r; select user from t, user u", set()),
        ("show grants to role r; select a from b for user", set()),
        *((f"ALTER USER {variable} SET x = 1", set()) for variable in ("identifier($u)", "IDENTIFIER(:1)", ":1")),
        *((f"DROP USER {variable}", set()) for variable in ("$who", "&name", "?", "IDENTIFIER (?)", "&{name}")),
    ],
)
def test_sql(text: str, names: set[str]) -> None:
    assert of_sql(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (json.dumps({**GOOD, "query_id": None, "user_name": "ANN"}), {"ANN"}),
        (json.dumps({**GOOD, "query_id": None, "objects_modified": {"x": json.dumps([STAGE])}}), {"A", "B"}),
        (json.dumps({**GOOD, "query_id": None, "invoker_identity": "ANN"}), {"ANN"}),
        ("no JSON of ANN", set()),
        ("", set()),
        ("[" * 100_000, set()),
    ],
)
def test_lines_that_are_no_rows(text: str, names: set[str]) -> None:
    assert told(text) == names


@pytest.mark.parametrize("depth", [300, 900, 990, 996])
def test_names_beside_deep_json(depth: int) -> None:
    """JSON of any depth that a row can have, in each place where a word of Snowflake's belongs."""
    deep = "[" * depth + "]" * depth
    stage = json.dumps({**STAGE, "columns": [json.dumps({"columnId": 1})]})
    for member in ("objectDomain", "stageKind", "of_next_year"):
        things = f'[{stage},{{"objectName":"D.S.T","{member}":{deep}}}]'
        for value in (things, json.dumps(things)):
            assert told(f'{json.dumps(GOOD)[:-1]},"objects_modified":{value}}}') == {"A", "B"}
    invoker = f'{{"type":{deep},"user":"C"}}'
    for value in (invoker, json.dumps(invoker)):
        assert told(f'{json.dumps(GOOD)[:-1]},"invoker_identity":{value}}}') == {"C"}


def test_query_history() -> None:
    assert told('{"QUERY_ID": "q", "USER_NAME": "ANN"}', is_history=True) == {"ANN"}
    assert told("{'query_id': 'q', 'user_name': 'ANN'}", is_history=True) == {"ANN"}
    assert told("no JSON", is_history=True) == set()


def test_who_is_hidden() -> None:
    """Not who is kept, nor who has a pseudonym already, nor what stands for no name."""
    key = Key(b"a key of 24 bytes, ASCII")
    screen = Screen(Filters(), key, keep=("svc_*",), names=frozenset({"LISTED"}))
    one, two = key.pseudonym("ONE"), key.pseudonym("TWO")
    earlier = Screen(Filters(), key).knowing(["ONE", "TWO"]).pseudonyms()
    knows = screen.knowing(["SVC_A", "svc_a", "TWO", one, "null", " "], [*earlier, "", "junk"])
    assert knows.names == {"LISTED", "svc_a", "TWO"}
    assert {line.split()[0] for line in knows.earlier if line.startswith("USER_")} == {one}
    assert [line.split()[0] for line in knows.pseudonyms() if line.startswith("USER_")] == sorted(
        [one, two, key.pseudonym("LISTED"), key.pseudonym("svc_a")]
    )


def test_what_an_update_keeps_of_a_name_is_found_again_as_it_was_written() -> None:
    """Names that differ in letter case alone have one digest."""
    key = Key(b"a key of 24 bytes, ASCII")
    screen = Screen(Filters(), key)
    known = screen.knowing(["JaneDoe", "BOB"])
    more = screen.knowing(["JaneDoe", "jANEdOE"], known.pseudonyms())
    names = map(key.pseudonym, ("JaneDoe", "jANEdOE"))
    one, two = (line.partition(" ")[2] for name in names for line in more.pseudonyms() if line.startswith(name))
    assert one == two != ""
    assert {*known.pseudonyms()} < {*more.pseudonyms()}
    assert screen.knowing([], more.pseudonyms()).pseudonyms() == more.pseudonyms()


@pytest.mark.parametrize("rest", ["", " 0123456789ABCDEF", " 0123456789ABCDEF more"])
def test_users_that_cannot_be_found_any_more_are_not_passed_over(rest: str) -> None:
    """A line of an earlier build: their names would stay in texts."""
    key = Key(b"a key of 24 bytes, ASCII")
    with pytest.raises(UsageError, match=r"of an earlier build.*to a new folder, and list users"):
        Screen(Filters(), key).knowing(["ONE"], [f"{key.pseudonym('TWO')}{rest}"])
    other = Key(b"another key of 24 bytes,")
    assert other.pseudonym("TWO") not in str(Screen(Filters(), key).knowing(["ONE"], [other.pseudonym("TWO")]).earlier)


@pytest.mark.parametrize("name", ["jane.doe@example.com", None])
def test_the_stage_of_a_user_that_is_only_the_source_of_a_column_names_its_user(name: str | None) -> None:
    """A source has no stageKind: its id is the user's name (view, "objectId")."""
    stage = {"objectDomain": "Stage", "objectId": "jane.doe@example.com", **({"objectName": name} if name else {})}
    target = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}
    row = {**GOOD, "objects_modified": [{**target, "columns": [{"columnName": "A", "directSources": [stage]}]}]}
    screen = Screen(Filters(), Key(b"a key of 24 bytes, ASCII"))
    assert "jane.doe@example.com" in set(screen.users_in(Record("f", 0, "line", json.dumps(row))))
    named = {**stage, "objectId": "7", "objectName": "D.S.LANDING"}
    row["objects_modified"] = [{**target, "columns": [{"columnName": "A", "directSources": [named]}]}]
    assert "D.S.LANDING" not in set(screen.users_in(Record("f", 0, "line", json.dumps(row))))
