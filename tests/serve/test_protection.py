"""What the pages of tables, columns, tags and policies say of protection: where a policy that no row sets was enforced,
when tags and policies held that were dropped and brought back, and grants ON ALL tables.

All stories are one account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.serve.objects import CARRIES, ON_ALL
from tests.ask.test_names import changed, read, thing
from tests.mcp.asked import asked
from tests.serve.conftest import pages_of
from tests.serve.test_contradictions import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

    from tests.serve.test_contradictions import Part

Json = dict[str, Any]


def _named(domain: str, number: int, name: str) -> Json:
    return {"objectDomain": domain, "objectId": number, "objectName": name}


def _given(kind: str, what: Json, **more: Any) -> Json:
    """As a DDL row sets a tag or policy."""
    return {kind: {what["objectName"]: {"objectId": {"value": what["objectId"]}, "subOperationType": "ADD"} | more}}


def _masked(table: Json, policy: Json, user: str) -> Json:
    """A read for which a policy was enforced on column C."""
    one = {"policyKind": "MASKING_POLICY", "policyName": policy["objectName"], "policyId": policy["objectId"]}
    enforced = {**table, "columns": [{"columnName": "C", "policies": [one]}]}
    return {**read(table, user), "policies_referenced": [enforced]}


def _back(what: Json) -> list[Json]:
    """Dropped, and brought back by DBA."""
    return [changed(what, "DROP"), {**changed(what, "UNDROP"), "user_name": "DBA"}]


def _grant(**grant: Any) -> Json:
    return changed(SHARE, grant={"value": {"PRIVILEGES": ["SELECT"], **grant}})


A, B, C, D, E, F, OLD, NEW = (
    thing(name, number) for number, name in enumerate(("A", "B", "C", "D", "E", "F", "OLD", "NEW"), 1)
)
BEFORE, OF_TAG, OF_C, OF_D, OF_E = (_named("Masking Policy", 900 + at, f"P.S.{at}") for at in range(5))
OF_SCHEMA, OF_DATABASE = _named("Masking Policy", 910, "P.Q.M"), _named("Masking Policy", 911, "Q.S.M")
UNUSED, TAG, TAG_OF_D = (_named("Tag", 950 + at, f"P.S.TAG_{at}") for at in range(3))
VIEW, SHARE = thing("V", 20, "View"), _named("Share", 30, "PARTNERS")
SCHEMA, DATABASE = _named("Schema", 40, "P.Q"), _named("Database", 41, "Q")
VALUE: Final = {"tagValue": {"value": "high"}}
ROWS: Final[list[Json]] = [
    # q1: BEFORE was set before the record, and nothing is known of the tag UNUSED but that there is one
    _masked(A, BEFORE, "ANA"), _masked(A, BEFORE, "BEN"), read(A, "CLEO"), changed(UNUSED, "CREATE"),
    # q5: OF_TAG is set on a tag alone
    changed(TAG, **_given("maskingPolicies", OF_TAG)), changed(B, columns={"C": _given("tags", TAG, **VALUE)}),
    _masked(B, OF_TAG, "ANA"),
    # q8: the policy of C is dropped at q9 and brought back at q10, and unset at q11
    changed(C, columns={"C": _given("maskingPolicies", OF_C)}), *_back(OF_C),
    changed(C, columns={"C": _given("maskingPolicies", OF_C, subOperationType="DROP")}),
    # q12: the tag of D has a policy from q13 on; the tag is dropped from q14 to q15, the policy from q16 to q17
    changed(D, columns={"C": _given("tags", TAG_OF_D, **VALUE)}), changed(TAG_OF_D, **_given("maskingPolicies", OF_D)),
    *_back(TAG_OF_D), *_back(OF_D),
    # q18: E itself is dropped from q19 to q20
    changed(E, columns={"C": _given("maskingPolicies", OF_E)}), *_back(E),
    # q21: the schema of a policy on F is dropped from q23 to q24, the database of another one from q25 to q26
    changed(F, columns={"C": _given("maskingPolicies", OF_SCHEMA)}),
    changed(F, columns={"D": _given("maskingPolicies", OF_DATABASE)}),
    *_back(SCHEMA), *_back(DATABASE),
    # q27: all tables of D.S are granted at q29, before NEW is made, and the share is opened
    changed(OLD, "CREATE"), changed(VIEW, "CREATE"),
    _grant(SECURABLE_OBJECT_DOMAIN="TABLE", SECURABLE_OBJECT_SCOPE="D.S", SECURABLE_OBJECT_SCOPE_DOMAIN="SCHEMA"),
    changed(NEW, "CREATE"), changed(SHARE, accountsToSet={"value": ["ORG.PARTNER"]}),
]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with pages_of(ROWS, tmp_path_factory.mktemp("protection")) as client:
        yield client


def _parts(client: FlaskClient, path: str) -> dict[str, Part]:
    response = client.get(path)
    assert response.status_code == 200
    return Parts(response.text).parts


def _periods(part: Part) -> list[list[str]]:
    """The tag or policy, or the object, of each row, with the minutes from and until when, and by which query."""
    named = "Tag or policy" if "Tag or policy" in part.rows[0] else "Object"
    return [
        [row[named].text, row["Valid from"].text[14:16], row["Valid until"].text[14:16], row["Query"].text]
        for row in part.rows
    ]


# --- policies that no row sets ----------------------------------------------------------------------------------------


def test_a_policy_says_what_it_was_enforced_on(client: FlaskClient) -> None:
    """View, "policies_referenced": a policy that was set before the record is known only by what queries enforced."""
    parts = _parts(client, "/object?id=masking-policy/900")
    assert parts["enforced"].texts == [("D.S.A", "C", "2", "2026-01-01 06:01:00", "2026-01-01 06:02:00")]
    assert f"No row from 2026-01-01 to 2026-01-01 {CARRIES}." in parts["carriers"].words
    assert "What it was enforced onD.S.A; last on 2026-01-01" in parts[""].words


def test_a_policy_of_a_tag_says_what_it_was_enforced_on(client: FlaskClient) -> None:
    parts = _parts(client, "/object?id=masking-policy/901")
    assert _periods(parts["carriers"]) == [["P.S.TAG_1", "05", "", "q5"]]
    assert parts["enforced"].texts == [("D.S.B", "C", "1", "2026-01-01 06:07:00", "2026-01-01 06:07:00")]


def test_a_tag_says_that_it_may_have_been_set_before(client: FlaskClient) -> None:
    parts = _parts(client, "/object?id=tag/950")
    assert f"No row from 2026-01-01 to 2026-01-01 {CARRIES}." in parts["carriers"].words
    assert "enforced" not in parts
    assert _periods(_parts(client, "/object?id=tag/951")["carriers"]) == [["D.S.B", "06", "", "q6"]]


def test_a_mask_that_was_only_enforced_was_set_until_a_row_ends_it(client: FlaskClient) -> None:
    (row,) = _parts(client, "/column?id=table/1&column=C")["unmasked-reads"].rows
    assert [row[name].text for name in ("User", "Mask")] == ["CLEO", "while it had a mask"]


# --- what shares and roles have ---------------------------------------------------------------------------------------

_ON_V: Final = {"SECURABLE_OBJECT_DOMAIN": "VIEW", "SECURABLE_OBJECT_ID": 20, "SECURABLE_OBJECT_NAME": "D.S.V"}
_ON_A: Final = {"SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_ID": 1, "SECURABLE_OBJECT_NAME": "D.S.A"}


def _opened() -> list[Json]:
    """A share gets a table and a view, loses the table at q5, and is opened to an account."""
    given = [changed(SHARE, "CREATE"), changed(VIEW, "CREATE")]
    for on in (_ON_A, _ON_V):
        row = _grant(**on)
        row["object_modified_by_ddl"]["operationType"] = "GRANT"
        given.append(row)
    revoke = changed(SHARE, "REVOKE", revoke={"value": {"PRIVILEGES": ["SELECT"], **_ON_A}})
    return [*given, revoke, changed(SHARE, accountsToAdd={"value": ["ORG.PARTNER"]})]


def test_the_page_of_a_share_has_what_was_granted_to_it(tmp_path: Path) -> None:
    with pages_of(_opened(), tmp_path) as client:
        parts = _parts(client, "/object?name=PARTNERS")
        lineage = [client.get(f"/lineage/{one}?id=share/30") for one in ("", "lineage.csv")]
    assert [[row[name].text for name in ("Object", "Kind", "Privilege", "Query")] for row in parts["granted"].rows] == [
        ["D.S.V", "View", "SELECT", "q4"],
        ["D.S.A", "Table", "SELECT", "q3"],
    ]
    assert [row["Valid until"].text[14:16] for row in parts["granted"].rows] == ["", "05"]
    assert parts["granted"].rows[0]["Object"].links == ["/object?id=view/20"]
    assert "What was granted to itD.S.V; 1 ended" in parts[""].words
    assert "not what is granted to it: D.S.V." in parts["exposure"].words
    assert not parts.keys() & {"sources", "targets", "end-up", "writers"}, "a share has no data"
    for told in (lineage[0].text, lineage[1].headers["Exporter-Notes"]):
        assert "This share has no data of its own: the page of the object has what was granted" in told
        assert "shows that data came" not in told


def test_tools_say_what_was_granted_to_a_share(tmp_path: Path) -> None:
    with pages_of(_opened(), tmp_path), asked(tmp_path / "out") as tools:
        answer = tools.answer("object", object_name="PARTNERS")
        notes = [note for tool in ("object", "lineage") for note in tools.notes(tool, object_name="PARTNERS")]
        exposed = tools.notes("exposure", object_name="PARTNERS")
    (granted,) = [part for part in answer["parts"] if part["part"] == "granted_to_it"]
    assert [row[granted["columns"].index("object_name")] for row in granted["rows"]] == ["D.S.V", "D.S.A"]
    assert not [note for note in notes if "that data came" in note or "a write to it" in note]
    assert [note for note in notes if "has no data of its own: the tool object has what was granted to it" in note]
    assert [note for note in exposed if "not what is granted to it: D.S.V. Ask exposure of these" in note]


# --- what was dropped and brought back --------------------------------------------------------------------------------

_OF_D: Final = [
    ["P.S.3", "17", "", "q17"],
    ["P.S.TAG_2", "15", "", "q15"],
    ["P.S.3", "15", "16", "q15"],
    ["P.S.3", "13", "14", "q13"],
    ["P.S.TAG_2", "12", "14", "q12"],
]
"""The tag of D, and the policy that is set on it, each while it was there."""


@pytest.mark.parametrize(
    ("path", "name", "periods"),
    [
        # SQL, UNDROP: what was dropped is as it was before. Between the two, it is on nothing.
        ("/object?id=table/3", "settings", [["P.S.2", "10", "11", "q10"], ["P.S.2", "08", "09", "q8"]]),
        ("/column?id=table/3&column=C", "settings", [["P.S.2", "10", "11", "q10"], ["P.S.2", "08", "09", "q8"]]),
        ("/object?id=masking-policy/902", "carriers", [["D.S.C", "10", "11", "q10"], ["D.S.C", "08", "09", "q8"]]),
        ("/object?id=table/4", "settings", _OF_D),
        ("/column?id=table/4&column=C", "settings", _OF_D),
        ("/object?id=tag/952", "carriers", [["D.S.D", "15", "", "q15"], ["D.S.D", "12", "14", "q12"]]),
        (
            "/object?id=tag/952",
            "settings",
            [["P.S.3", "17", "", "q17"], ["P.S.3", "15", "16", "q15"], ["P.S.3", "13", "14", "q13"]],
        ),
        (
            "/object?id=masking-policy/903",
            "carriers",
            [["P.S.TAG_2", "17", "", "q17"], ["P.S.TAG_2", "15", "16", "q15"], ["P.S.TAG_2", "13", "14", "q13"]],
        ),
        ("/object?id=table/5", "settings", [["P.S.4", "20", "", "q20"], ["P.S.4", "18", "19", "q18"]]),
        ("/object?id=masking-policy/904", "carriers", [["D.S.E", "20", "", "q20"], ["D.S.E", "18", "19", "q18"]]),
        ("/column?id=table/6&column=C", "settings", [["P.Q.M", "24", "", "q24"], ["P.Q.M", "21", "23", "q21"]]),
        ("/column?id=table/6&column=D", "settings", [["Q.S.M", "26", "", "q26"], ["Q.S.M", "22", "25", "q22"]]),
        ("/object?id=masking-policy/910", "carriers", [["D.S.F", "24", "", "q24"], ["D.S.F", "21", "23", "q21"]]),
        ("/object?id=masking-policy/911", "carriers", [["D.S.F", "26", "", "q26"], ["D.S.F", "22", "25", "q22"]]),
    ],
)  # fmt: skip
def test_what_was_dropped_did_not_hold_until_its_undrop(
    path: str, name: str, periods: list[list[str]], client: FlaskClient
) -> None:
    part = _parts(client, path)[name]
    assert _periods(part) == periods
    if name == "settings":  # by the user of the UNDROP
        users = {row["Query"].text: row["User"].text for row in part.rows}
        assert users == {
            query: "DBA" if query in {"q10", "q15", "q17", "q20", "q24", "q26"} else "ETL" for query in users
        }


def test_what_protects_it_now_has_the_last_period(client: FlaskClient) -> None:
    words = _parts(client, "/object?id=table/6")[""].words
    assert "What protects itQ.S.M on D since 2026-01-01; P.Q.M on C since 2026-01-01; 2 ended" in words


# --- grants ON ALL ----------------------------------------------------------------------------------------------------


def test_a_table_says_that_all_tables_of_its_schema_were_granted(client: FlaskClient) -> None:
    """Snowflake, GRANT: ON ALL covers the existing objects of the kind in the schema, not those that come later."""
    part = _parts(client, "/object?id=table/7")["on-all"]
    assert ON_ALL.format("D.S") in part.words
    assert [(row["Object"].links, row["Privilege"].text, row["Grantee"].text) for row in part.rows] == [
        (["/object?id=schema/name/D.S"], "SELECT ON ALL TABLE", "ORG.PARTNER"),
        (["/object?id=schema/name/D.S"], "SELECT ON ALL TABLE", "PARTNERS"),
    ]
    for path in ("table/8", "view/20", "masking-policy/910"):
        assert "on-all" not in _parts(client, f"/object?id={path}")
