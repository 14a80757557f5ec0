"""The body of a policy that was in force for a query, and when it was given, after all that changes the policy.

Query ``qN`` starts at minute N; the last one of a story reads the protected table. The rule: docs/graph.md, "Why
versions", and the documents' "Track the enforced policy in a query".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from tests.ask.stories import of, told
from tests.ask.test_clones import place
from tests.ask.test_names import changed, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
TABLE: Final = thing("A", 1)
GIVEN: Final[Json] = {"policyBody": {"value": "b1"}}
P, G = place("G.P", 71), place("G", 72)
_SCHEMA_SWAP: Final = {
    "swapTargetDomain": {"value": "Schema"},
    "swapTargetId": {"value": 73},
    "swapTargetName": {"value": "G.Q"},
}


def policy(name: str = "G.P.M", domain: str = "MASKING_POLICY", number: int | None = 60) -> Json:
    return {"objectDomain": domain, "objectName": name, **({} if number is None else {"objectId": number})}


def enforced(policy: Json) -> Json:
    """A read of the table with the policy: on the table if it is a row access policy, else on its column."""
    one = {"policyName": policy["objectName"], "policyKind": policy["objectDomain"]}
    one |= {"policyId": policy["objectId"]} if "objectId" in policy else {}
    on_table = policy["objectDomain"] == "ROW_ACCESS_POLICY"
    places = {"policies": [one]} if on_table else {"columns": [{"columnName": "C", "policies": [one]}]}
    return {**read(TABLE), "policies_referenced": [{**TABLE, "columns": [], **places}]}


def stories(domain: str) -> dict[str, tuple[list[Json], int, str]]:
    """The statements on a policy; the query that gave the body in force, and the body."""
    own = policy(domain=domain)
    made, restored = changed(own, "CREATE", **GIVEN), [changed(own, "DROP"), changed(own, "UNDROP")]
    altered = changed(own, policyBody={"value": "b2"})
    return {
        "undrop": ([made, *restored], 1, "b1"),
        "undrop-twice": ([made, altered, *restored, *restored], 2, "b2"),
        "undrop-of-its-schema": ([made, changed(P, "DROP"), changed(P, "UNDROP")], 1, "b1"),
        "undrop-of-its-database": (
            [made, altered, changed(G, "DROP"), changed(G, "UNDROP"), changed(own, comment={"value": "b3"})], 2, "b2",
        ),
        "altered-after-an-undrop": ([made, *restored, altered], 4, "b2"),
        "undrop-of-the-one-made-anew": ([made, changed(own, "CREATE"), *restored], 2, ""),
        "altered-to-what-was-cut": ([made, changed(own, policyBody={"value": "TRUNCATED"}), *restored], 2, ""),
        "comment": ([made, changed(own, comment={"value": "b3"})], 1, "b1"),
        "rename": ([made, changed(own, objectName={"value": "G.P.M2"}), *restored], 1, "b1"),
        "rename-of-its-schema": ([made, changed(P, objectName={"value": "G.P2"})], 1, "b1"),
        "swap-of-its-schema": ([made, changed(P, **_SCHEMA_SWAP)], 1, "b1"),
        "replaced-by-itself": ([made, changed(own, "REPLACE", policyBody={"value": "b2"})], 2, "b2"),
        "replaced-by-another-id": (
            [made, changed({**own, "objectId": 61}, "REPLACE", policyBody={"value": "b2"})], 1, "b1",
        ),
    }  # fmt: skip


KINDS: Final = {"mask": "MASKING_POLICY", "row": "ROW_ACCESS_POLICY"}
EXPECTED: Final = {f"{kind}-{name}": story for kind, domain in KINDS.items() for name, story in stories(domain).items()}
NAMELESS: Final = policy(number=None)
ROW: Final = policy(domain="ROW_ACCESS_POLICY")
UNKNOWN: Final[dict[str, tuple[Json, list[Json]]]] = {
    "none-on-record": (policy(), []),
    "undrop-alone": (policy(), [changed(policy(), "UNDROP")]),
    "comment-alone": (policy(), [changed(policy(), comment={"value": "b3"})]),
    "dropped": (policy(), [changed(policy(), "CREATE", **GIVEN), changed(policy(), "DROP")]),
    "made-without": (policy(), [changed(policy(), "CREATE")]),
    "renamed-without-an-id": (
        policy("G.P.M2", number=None),
        [changed(NAMELESS, "CREATE", **GIVEN), changed(NAMELESS, objectName={"value": "G.P.M2"})],
    ),
    "row-none-on-record": (ROW, []),
    "row-undrop-alone": (ROW, [changed(ROW, "UNDROP")]),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    known = {
        name: [*rows, enforced(policy(domain=KINDS[name.split("-")[0]]))] for name, (rows, _, _) in EXPECTED.items()
    }
    unknown = {f"un-{name}": [*rows, enforced(own)] for name, (own, rows) in UNKNOWN.items()}
    return told(known | unknown, tmp_path_factory.mktemp("policy-bodies"))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_body_is_that_of_the_last_statement_that_gave_one(name: str, whole: Store) -> None:
    rows, given_by, body = EXPECTED[name]
    last = f"q{len(rows) + 1}"
    found = ask(of(name, whole), find("enforced-policy"), {"query_id": last})
    assert [tuple(row) for row in found.rows] == [(last, "60", f"2026-01-01T00:{given_by:02}:00Z", body or None)]
    assert any("says which body" in note for note in found.notes) == (not body)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_body_that_no_row_gives_is_said_to_be_unknown(name: str, whole: Store) -> None:
    own, rows = UNKNOWN[name]
    last = f"q{len(rows) + 1}"
    found = ask(of(f"un-{name}", whole), find("enforced-policy"), {"query_id": last})
    label = own["objectName"]
    if name.startswith("row"):
        assert found.rows == []
        assert any(f"not in the answer: {label}." in note for note in found.notes)
    else:
        assert [row[3] for row in found.rows] == [None]
        assert f"No row since 2026-01-01T00:01:00Z says which body was in force: {label}." in found.notes


ALTERED: Final = {**policy(), "operationType": "ALTER", "properties": {"policyBody": {"value": "b2"}}}
CUT: Final = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
BY_NAME: Final = [changed(NAMELESS, "DROP"), changed(NAMELESS, "CREATE", **GIVEN)]
NOT_COUNTED: Final[dict[str, tuple[Json, list[Json], str]]] = {
    "cut": (policy(), [{"object_modified_by_ddl": CUT}], "that Snowflake cut"),
    "cut-inside": (
        policy(), [{"object_modified_by_ddl": {**ALTERED, "properties": "TRUNCATED"}}], "that Snowflake cut",
    ),
    "no-kind": (policy(), [{"object_modified_by_ddl": {**ALTERED, "objectDomain": None}}], "not understood"),
    "new-operation": (policy(), [changed(policy(), "MODIFY", comment={"value": "c"})], "not understood"),
    "of-kind-policy": (
        policy(), [{"object_modified_by_ddl": {**ALTERED, "objectDomain": "POLICY"}}], "do not give its id or kind",
    ),
    "by-name": (policy(), [changed(NAMELESS, policyBody={"value": "b2"})], "do not give its id or kind"),
    "made-anew-by-name": (policy(), BY_NAME, "do not give its id or kind"),
    "schema-made-anew": (
        NAMELESS, [changed(P, "DROP"), changed({**P, "objectId": 79}, "CREATE")], "of its schema or database",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_COUNTED)
def test_what_may_have_changed_the_body_is_told(name: str, tmp_path: Path) -> None:
    own, rows, why = NOT_COUNTED[name]
    said = policy_notes([changed(own, "CREATE", **GIVEN), *rows, enforced(own)], tmp_path)
    assert len(said) == 1
    assert said[0].startswith("Another body of G.P.M may have been in force: changes ")
    assert why in said[0]
    assert f"query q{len(rows) + 1}" in said[0]


def test_what_was_changed_before_the_body_was_given_or_after_the_query_is_not_told(tmp_path: Path) -> None:
    _, cut, _ = NOT_COUNTED["cut"]
    rows = [*cut, changed(NAMELESS, "DROP"), changed(policy(), "CREATE", **GIVEN), enforced(policy()), *cut]
    assert policy_notes(rows, tmp_path, "q4") == []


@pytest.mark.parametrize("other", [policy("G.P.O", number=61), thing("B", 2)])
def test_what_was_cut_of_something_else_is_not_told(other: Json, tmp_path: Path) -> None:
    own = {key: value for key, value in other.items() if key != "columns"}
    cut = {"object_modified_by_ddl": {**own, "operationType": "ALTER", "properties": "TRUNCATED"}}
    assert policy_notes([changed(policy(), "CREATE", **GIVEN), cut, enforced(policy())], tmp_path) == []


@pytest.mark.parametrize("body", [{"value": None}, {"value": ""}, {"value": ["a", "b"]}])
def test_a_body_without_a_text_is_unknown(body: Json, tmp_path: Path) -> None:
    rows = [changed(policy(), "CREATE", **GIVEN), changed(policy(), policyBody=body), enforced(policy())]
    whole = told({"one": rows}, tmp_path)
    found = ask(whole, find("enforced-policy"), {"query_id": "q3"})
    assert [tuple(row) for row in found.rows] == [("q3", "60", "2026-01-01T00:02:00Z", None)]
    assert any("says which body was in force: G.P.M." in note for note in found.notes)


def policy_notes(rows: list[Json], folder: Path, query_id: str = "") -> list[str]:
    answer = ask(told({"one": rows}, folder), find("enforced-policy"), {"query_id": query_id or f"q{len(rows)}"})
    return [note for note in answer.notes if "Another body" in note]
