"""What answers say of rows that give neither name nor id of what was changed or enforced, or not what was done.

Each case is a separate account of one export; query ``qN`` starts at minute N. The column C of the table T is masked by
a policy on its tag, and read before and after the row in question, which is q4.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import serve
from exporter.ask.lookups import Lookups
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, asked, at, changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
PAGE: Final = Path(serve.__file__).parent / "page_queries" / "page-settings.rq"
T: Final = thing("T", 5)
TAG: Final[Json] = {"objectDomain": "Tag", "objectId": 80, "objectName": "D.S.PII"}
SHARE: Final[Json] = {"objectDomain": "Share", "objectId": 90, "objectName": "OUT"}
SET_TAG: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}
BEFORE: Final = [
    changed(TAG, **SET_MASK["C"]), changed(T, columns={"C": {"tags": SET_TAG}}), read(T, "BEN", masked=True),
]  # fmt: skip
AFTER: Final = [read(T, "CLEO")]
ASKED: Final[dict[str, Json]] = {
    "exposure": {"object_name": "D.S.T"},
    "policy-coverage": {"object_name": "D.S.T"},
    "tag-history": {"object_name": "D.S.T", "column_name": "C"},
    "tag-reach": {},
    "unmasked-copies": {},
    "unmasked-reads": {"object_name": "D.S.T"},
    "end-up": {"object_name": "D.S.T"},
    "changes": {"since": at(0)},
    "former-names": {"object_name": "D.S.T"},
    "masking-policies": {},
    "row-access-policies": {},
    "policy-access": {},
    "agent-reads": {},
}
BY_DDL: Final = set(ASKED) - {"masking-policies", "row-access-policies", "policy-access"}
MASKING: Final = {"policy-coverage", "unmasked-copies", "unmasked-reads", "changes", "agent-reads"}
BY_TAG: Final = {"policy-coverage", "tag-history", "tag-reach", "unmasked-copies", "unmasked-reads", "changes"}


def nameless(domain: str | None, operation: str = "DROP", **also: Any) -> Json:
    return {"object_modified_by_ddl": {"objectDomain": domain, "operationType": operation, **also}}


def enforced(*policies: Json) -> Json:
    guarded = {**T, "columns": [{"columnName": "C", "policies": list(policies)}]}
    agent = {"agentType": "CORTEX_AGENT", "agentId": 7, "agentName": "D.S.HELPER"}
    return {**read(T, "DORA"), "policies_referenced": [guarded], "agents_info": [agent]}


STORIES: Final[dict[str, tuple[Json, set[str]]]] = {
    "table": (nameless("Table"), BY_DDL),
    "table-altered": (nameless("Table", "ALTER", properties={"columns": {"C": {"tags": {"D.S.PII": {
        "objectId": {"value": 80}, "subOperationType": "DROP"}}}}}), BY_DDL),
    "schema": (nameless("Schema"), BY_DDL),
    "no-kind": (nameless(None), BY_DDL),
    "replaced-by-id": (nameless("Table", "REPLACE", objectId=6), BY_DDL),
    "altered-by-id": (nameless("Table", "ALTER", objectId=6), set()),
    "cut-id": (nameless("Table", objectId=-1, objectName=None), BY_DDL),
    "mask": (nameless("MASKING_POLICY"), MASKING),
    "mask-blank": (nameless("MASKING_POLICY", objectName="", objectId=0), MASKING),
    "row-access": (nameless("ROW_ACCESS_POLICY"), {"policy-coverage", "changes"}),
    "tag": (nameless("TAG", "ALTER", properties={"maskingPolicies": {}}), BY_TAG),
    "share": (nameless("Share", "REVOKE"), {"exposure", "end-up", "agent-reads", "changes"}),
    "sequence": (nameless("Sequence"), {"changes"}),
    "warehouse": (nameless("Warehouse"), {"changes"}),
    "enforced-mask": (
        enforced({"policyKind": "MASKING_POLICY"}),
        {"masking-policies", "policy-access", "agent-reads", "unmasked-copies", "unmasked-reads"},
    ),
    "enforced-row": (enforced({"policyKind": "ROW_ACCESS_POLICY"}), {"row-access-policies", "policy-access"}),
    "enforced-join": (enforced({"policyKind": "JOIN_POLICY"}), {"policy-access"}),
    "no-operation": (changed(TAG, None, objectName={"value": "D.S.PII2"}), BY_DDL),
    "whole": (enforced(MASK), set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: [*BEFORE, row, *AFTER] for name, (row, _) in STORIES.items()}
    return stories.told(told, tmp_path_factory.mktemp("unnamed"))


@pytest.mark.parametrize("question", ASKED)
@pytest.mark.parametrize("story", STORIES)
def test_answers_that_it_can_concern_have_a_note(story: str, question: str, whole: Store) -> None:
    """docs/not-recorded.md, "What was cut": the query says so, and so do the answers that can lack it."""
    notes = asked(question, stories.of(story, whole), **ASKED[question]).notes
    told = [note for note in notes if "not understood in full" in note]
    assert len(told) == (question in STORIES[story][1])
    assert all("the first is q4." in note for note in told)


def test_a_cut_operation_is_told_as_cut(tmp_path: Path) -> None:
    graph = stories.told({"one": [*BEFORE, changed(T, "TRUNCATED"), *AFTER]}, tmp_path)
    assert any("cut by Snowflake (object_modified_by_ddl)" in note for note in asked("policy-coverage", graph).notes)


@pytest.mark.parametrize("domain", ["Sequence", "Share"])
def test_what_is_asked_for_itself_is_concerned(domain: str, tmp_path: Path) -> None:
    own = {"objectDomain": domain, "objectId": 90, "objectName": "D.S.OUT"}
    set_on = changed(own, tags=SET_TAG)
    graph = stories.told({"one": [set_on, nameless(domain)]}, tmp_path)
    for given in ({"object_name": "D.S.OUT", "domain": domain}, {}):
        notes = asked("policy-coverage", graph, **given).notes
        assert any("not understood in full" in note for note in notes)


@pytest.mark.parametrize("mode", ["full", "daily"])
@pytest.mark.parametrize(
    ("policy", "mask", "word"),
    [
        ({"policyKind": "MASKING_POLICY"}, None, "UNKNOWN"),
        ({"policyName": "", "policyId": -1, "policyKind": "MASKING_POLICY"}, None, "UNKNOWN"),
        ({"policyName": "D.S.MASK", "policyId": 900}, None, "UNKNOWN"),
        ({"policyKind": "ROW_ACCESS_POLICY"}, "CLEAR", "WHILE"),
        (MASK, "MASKED", None),
    ],
)
def test_a_policy_that_the_row_does_not_tell_is_neither_clear_nor_masked(
    policy: Json, mask: str | None, word: str | None, mode: str, tmp_path: Path
) -> None:
    """docs/questions.md, agent-reads: empty where rows do not tell; unmasked-reads: UNKNOWN."""
    rows = exports.ndjson(stories._rows({"one": [*BEFORE, enforced(policy), *AFTER]}), tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--outputs", "graph", "--reads", mode) == 0
    graph = load(tmp_path / "out")
    assert {row["mask"] for row in ask(graph, find("agent-reads"), {}).dicts()} == {mask}
    words = {row["user_name"]: row["mask"] for row in ask(graph, find("unmasked-reads"), {}).dicts()}
    assert words == {"CLEO": "WHILE", **({"DORA": word} if word else {})}


def test_the_query_says_it_in_an_update_too(tmp_path: Path) -> None:
    days = [[*BEFORE, STORIES["mask"][0]], AFTER]
    rows = stories._rows({"one": [row for day in days for row in day]})
    for number, given in enumerate((rows[:4], rows[4:])):
        source = exports.ndjson(given, tmp_path / f"{number}.ndjson")
        assert exports.export([source], tmp_path / "out", "--outputs", "graph", "--update") == 0
    notes = ask(load(tmp_path / "out"), find("unmasked-reads"), {}).notes
    assert any("not understood in full (object_modified_by_ddl" in note for note in notes)


@pytest.mark.parametrize(("kind", "is_told"), [("MASKING_POLICY", True), ("POLICY", True), ("TAG", False)])
def test_a_body_that_a_nameless_policy_may_have_got_is_told(kind: str, tmp_path: Path, *, is_told: bool) -> None:
    policy = {"objectDomain": "MASKING_POLICY", "objectId": 900, "objectName": "D.S.MASK"}
    given = {"properties": {"policyBody": {"value": "b2"}}}
    rows = [changed(policy, "CREATE", policyBody={"value": "b1"}), nameless(kind, "ALTER", **given), enforced(MASK)]
    notes = asked("enforced-policy", stories.told({"one": rows}, tmp_path), query_id="q3").notes
    assert any("Another body of D.S.MASK may have been in force" in note for note in notes) == is_told


def test_a_question_of_a_user_is_told_by_what_it_needs(whole: Store, tmp_path: Path) -> None:
    for name in ("mask", "sequence"):
        graph = stories.of(name, whole)
        for needs, is_told in (("DDL", True), ("reads", False)):
            own = tmp_path / f"{needs}.rq"
            own.write_text(f"# Which columns?\n# needs: {needs}\nSELECT ?s WHERE {{ ?s a ?o }}\n", encoding="utf-8")
            notes = ask(graph, find(str(own)), {}).notes
            assert any("not understood in full" in note for note in notes) == is_told


def test_the_page_of_a_table_tells_it(whole: Store) -> None:
    graph = stories.of("mask", whole)
    table = next(Lookups(graph).with_text("ah:objectId", "5"))
    notes = ask(graph, find(str(PAGE)), {"object": table}).notes
    assert any("not understood in full" in note for note in notes)
