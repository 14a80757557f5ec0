"""Notes on what no row has: a policy that was enforced, and what became of the objects in a schema
or database that was dropped, replaced, renamed or swapped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import RdfFormat, Store

from exporter.ask.questions import ask, find
from exporter.serve import server
from exporter.serve.lineage.flows import read_lineage
from exporter.serve.lineage.picture import picture
from tests.ask import stories
from tests.ask.stories import days, exported, flat
from tests.ask.test_clones import place, table
from tests.ask.test_ends import SET_TAG, granted
from tests.ask.test_names import SET_MASK, changed, copied, read
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

PREFIXES = """
@base <snowflake://ACME-PROD/> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ENFORCED = """
<q/e> ah:policy <masking-policy/1> ; ah:protectedObject <table/1> ; ah:protectedColumn <table/1/column/A> .
<masking-policy/1> rdfs:label "D.S.MASK" .
<table/1> rdfs:label "D.S.T" .
<table/1/column/A> ah:columnName "A" .
"""
TAGGED = """
<q/t> a ah:TagSetting ; ah:settingOn <table/1> ; ah:onColumn <table/1/column/A> ; ah:elementObject <tag/1> ;
    ah:validFrom "2026-01-01T00:00:00Z"^^xsd:dateTime .
"""
SET = """
<q/s> a ah:PolicySetting ; ah:settingOn <table/1> ;
    ah:onColumn <table/1/column/A> ; ah:elementObject <masking-policy/1> ;
    ah:validFrom "2026-01-01T00:00:00Z"^^xsd:dateTime .
"""
SET_ON_TAG = """
<q/s> a ah:PolicySetting ; ah:settingOn <tag/1> ; ah:elementObject <masking-policy/1> ;
    ah:validFrom "2026-01-01T00:00:00Z"^^xsd:dateTime .
"""


def told(*parts: str, question: str = "policy-coverage") -> list[str]:
    store = Store()
    store.load("".join((PREFIXES, *parts)).encode(), RdfFormat.TURTLE)
    return [note for note in ask(store, find(question), {}).notes if note.startswith("Enforced, but set by no row")]


def test_an_enforced_policy_without_a_recorded_setting_is_reported() -> None:
    (note,) = told(ENFORCED, TAGGED)
    assert note.endswith("not among the policies: D.S.MASK on D.S.T.A.")


def test_a_policy_that_a_statement_set_is_not_reported() -> None:
    assert told(ENFORCED, TAGGED, SET) == told(ENFORCED, TAGGED, SET_ON_TAG) == []


def test_what_has_no_tag_is_not_in_the_answer_anyway() -> None:
    assert told(ENFORCED) == []


def test_other_questions_do_not_report_it() -> None:
    assert told(ENFORCED, TAGGED, question="writers") == []


def test_a_tag_on_a_column_is_not_on_its_table() -> None:
    of_table = ENFORCED.replace(" ; ah:protectedColumn <table/1/column/A>", "")
    assert told(of_table, TAGGED) == []
    (note,) = told(of_table, TAGGED.replace(" ; ah:onColumn <table/1/column/A>", ""))
    assert note.endswith(": D.S.MASK on D.S.T.")


def test_a_policy_that_is_set_on_a_column_is_not_set_on_its_table() -> None:
    of_table = ENFORCED.replace(" ; ah:protectedColumn <table/1/column/A>", "")
    tagged = TAGGED.replace(" ; ah:onColumn <table/1/column/A>", "")
    assert len(told(of_table, tagged, SET)) == 1
    assert told(of_table, tagged, SET.replace("ah:onColumn <table/1/column/A> ;", "")) == []


# --- schemas and databases that were dropped, replaced, renamed or swapped --------------------------------------------

SOURCE, A, B = table("E.S.SOURCE", 1), table("D.S.A", 3), table("D.T.A", 4)
FILL: Final = {**copied(SOURCE, A), **changed(A, "CREATE", tags=SET_TAG)}
SWAPPED: Final[list[dict[str, Any]]] = [
    {**changed(place(one, number), swapTargetDomain={"value": "Schema"}, swapTargetId={"value": other_number},
               swapTargetName={"value": other}), "again": number > 71}
    for one, number, other, other_number in (("D.S", 71, "D.T", 72), ("D.T", 72, "D.S", 71))
]  # fmt: skip
RENAMED: Final = changed(place("D.S", 71), objectName={"value": "D.S2"})
ENDS: Final = {
    "rename": [FILL, granted(A), RENAMED],
    "rename-of-database": [FILL, granted(A), changed(place("D", 70), objectName={"value": "D2"})],
    "swap": [FILL, granted(A), copied(SOURCE, B), *SWAPPED],
    # the objects are as the graph has them: those with an id end with their schema
    "drop": [FILL, granted(A), changed(place("D.S", 71), "DROP")],
    "drop-of-database": [FILL, granted(A), changed(place("D", 70), "DROP")],
    "replace": [FILL, granted(A), changed(place("D.S", 72), "REPLACE")],
    "restored": [FILL, granted(A), changed(place("D.S", 71), "DROP"), changed(place("D.S", 71), "UNDROP")],
    "made-later": [changed(place("D.S", 71), "DROP"), FILL, granted(A)],
    "dropped-before": [FILL, changed(A, "DROP"), changed(place("D.S", 71), "DROP")],
    "other-schema": [FILL, granted(A), changed(place("D.S2", 71), "DROP")],
    "set-on-schema": [FILL, granted(A), changed(place("D.S", 71), comment={"value": "x"})],
}
DONE: Final = {
    "rename": "D.S was renamed to D.S2 at 2026-01-01T00:03:00Z (query q3)",
    "rename-of-database": "D was renamed to D2 at 2026-01-01T00:03:00Z (query q3)",
    "swap": "D.S was swapped with D.T at 2026-01-01T00:04:00Z (query q4)",
}
OF_ONE: Final[dict[str, dict[str, str]]] = {
    "who-accessed": {}, "former-names": {}, "lineage-as-of": {"at": "2026-01-02"}, "policy-coverage": {},
    "exposure": {}, "writers": {}, "end-up": {}, "root-cause": {"column_name": "C"},
}  # fmt: skip


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(ENDS, tmp_path_factory.mktemp("ends"))


def on_containers(store: Store, question: str, **given: str) -> list[str]:
    return [note for note in ask(store, find(question), given).notes if "No row lists what was in it" in note]


@pytest.mark.parametrize("story", ENDS)
@pytest.mark.parametrize("question", OF_ONE)
def test_what_became_of_a_schema_is_told_of_what_was_in_it(question: str, story: str, ends: Store) -> None:
    told = on_containers(stories.of(story, ends), question, object_name="D.S.A", **OF_ONE[question])
    assert [note.partition(". ")[0] for note in told] == ([DONE[story]] if story in DONE else [])


@pytest.mark.parametrize("story", ENDS)
@pytest.mark.parametrize("question", ["unused-objects", "policy-coverage", "exposure"])
def test_it_is_told_of_what_is_in_an_answer(question: str, story: str, ends: Store) -> None:
    given = {"since": "2026-01-02"} if question == "unused-objects" else {}
    told = on_containers(stories.of(story, ends), question, **given)
    assert [note.partition(". ")[0] for note in told] == ([DONE[story]] if story in DONE else [])


def test_a_name_that_only_the_rename_of_its_schema_gives_leads_to_the_former_one(ends: Store) -> None:
    (told,) = on_containers(stories.of("rename", ends), "who-accessed", object_name="d.s2.a")
    assert told.startswith(DONE["rename"])
    assert told.endswith("Ask for D.S.A, too.")
    assert on_containers(stories.of("rename", ends), "who-accessed", object_name="D.S2.OTHER") == []


@pytest.mark.parametrize("is_named_again", [False, True])
def test_a_later_rename_of_the_database_is_not_of_a_name_that_went_with_the_schema(
    is_named_again: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """D.S.A is D.S2.A, and then D2.S2.A: there is no D2.S.A, unless a row names a D.S.A again in between."""
    renamed = [RENAMED, read(table("D.S2.A", None)), *[read(table("D.S.A", None))] * is_named_again]
    rows = [read(table("D.S.A", None)), *renamed, changed(place("D", 70), objectName={"value": "D2"})]
    last = read(table("D2.S2.A", None))
    told = on_containers(stories.told({"two": [*rows, last]}, tmp_path), "who-accessed", object_name="D.S.A")
    assert told[0].startswith("D.S was renamed to D.S2")
    assert told[0].endswith("Ask for D.S2.A, too.")
    assert [note.endswith("Ask for D2.S.A, too.") for note in told[1:]] == [True] * is_named_again


def test_before_it_nothing_is_told(ends: Store) -> None:
    graph = stories.of("rename", ends)
    assert on_containers(graph, "lineage-as-of", object_name="D.S.A", at="2026-01-01T00:02:30Z") == []


def test_an_answer_about_others_says_nothing(ends: Store) -> None:
    assert on_containers(stories.of("rename", ends), "who-accessed", object_name="E.S.SOURCE") == []


def test_what_is_done_each_night_is_told_once(tmp_path: Path) -> None:
    nightly = [read(table("D.S.A", None)), *[changed(place("D.S", number), "REPLACE") for number in range(71, 78)]]
    graph = stories.told({"nightly": nightly}, tmp_path)
    (note,) = on_containers(graph, "who-accessed", object_name="D.S.A")
    times = "7 times from 2026-01-01T00:02:00Z on, the last time at 2026-01-01T00:08:00Z (query q8)"
    assert note.startswith(f"D.S was replaced {times}. No row lists what was in it: the answer may have D.S.A as if")
    assert not any("more such" in one for one in ask(graph, find("who-accessed"), {"object_name": "D.S.A"}).notes)


def swap(one: str, other: str) -> list[dict[str, Any]]:
    """Two rows of one query."""
    target = {"swapTargetDomain": {"value": "Schema"}}
    sides = [changed(place(this, None), **target, swapTargetName={"value": that}) for this, that in
             ((one, other), (other, one))]  # fmt: skip
    return [sides[0], {**sides[1], "again": True}]


def test_swaps_of_the_same_two_are_told_once_with_all_names_to_ask_for(tmp_path: Path) -> None:
    """In both orders, and with a name that only one of the statements gives."""
    rows = [read(table("D.S.A", None)), read(table("D.T.A", None)), *swap("D.S", "D.T"), *swap("D.T", "D.S")]
    (note,) = on_containers(stories.told({"swaps": rows}, tmp_path), "who-accessed", object_name="D.S.A")
    assert " 2 times from 2026-01-01T00:03:00Z on, the last time at 2026-01-01T00:04:00Z (query q4). " in note
    assert note.endswith("Ask for D.T.A, too.")


def test_of_many_the_last_are_told(tmp_path: Path) -> None:
    """How many there were before is in the note on the first of these: a page puts notes in another order."""
    swaps = [row for number in range(7) for row in swap("D.S", f"D.T{number}")]
    graph = stories.told({"many": [read(table("D.S.A", None)), *swaps]}, tmp_path)
    notes = on_containers(graph, "who-accessed", object_name="D.S.A")
    assert [note.partition("(query ")[2][:2] for note in notes] == ["q4", "q5", "q6", "q7", "q8"]
    assert notes[0].endswith(" Such statements were run 2 times before, on other schemas or databases.")


def test_the_gravest_note_is_the_first(tmp_path: Path) -> None:
    """That nobody was kept from reading a table unmasked comes before what is unknown of its schema."""
    rows = [read(table("D.S.A", 3)), *SWAPPED]
    graph = stories.told({"grave": rows}, tmp_path)
    notes = ask(graph, find("unmasked-reads"), {"object_name": "D.S.A"}).notes
    assert "whoever read it read it unmasked" in notes[0]
    assert "No row lists what was in it" in notes[-1]


def test_pages_say_it(tmp_path: Path) -> None:
    rows, lines = days("rename", [FILL, read(A), RENAMED])
    with sited(exported(flat(rows), flat(lines), tmp_path / "out")) as site:
        client = server.make(site, "127.0.0.1").test_client()
        said = re.compile(r"D\.S was renamed to D\.S2 at (<time [^>]*>)?2026-01-03")
        own = site.path(site.by_name("D.S.A")[0].iri)
        for path in ("/object?name=D.S.A", f"/object?id={own}", f"/column?id={own}&column=C"):
            assert said.search(client.get(path).text), path
        assert said.search(client.get("/object?name=D.S2.A").text)
        for one, expected in (("D.S.A", True), ("E.S.SOURCE", True)):
            thing, _ = site.by_name(one)
            found = read_lineage(site, thing, "", None)
            picture(found, frozenset())
            assert any(said.search(note) for note in found.notes) == expected, one


@pytest.mark.parametrize("operation", ["DROP", "REPLACE"])
@pytest.mark.parametrize("domain", ["SCHEMA", "DATABASE"])
def test_what_became_of_the_schema_of_a_policy_is_told_of_reads_that_it_masked(
    domain: str, operation: str, tmp_path: Path
) -> None:
    """Also of a policy that queries enforced and no row sets: a row without its id may have ended it."""
    masked = {**read(table("D.S.A", None)), "policies_referenced": [{**table("D.S.A", None), "columns": [
        {"columnName": "C", "policies": [{"policyKind": "MASKING_POLICY", "policyName": "P.S.MASK"}]}]}]}  # fmt: skip
    ended = changed({"objectDomain": domain, "objectName": "P.S" if domain == "SCHEMA" else "P"}, operation)
    graph = stories.told({"one": [masked, ended, read(table("D.S.A", None))]}, tmp_path)
    (note,) = on_containers(graph, "unmasked-reads")
    assert note.endswith("the answer may have P.S.MASK as if that had not been done.")


# --- what another object took the new name of, before a row showed it -------------------------------------------------

MASKED: Final = changed(A, columns=SET_MASK)
SWAPPED_ALONE: Final = [
    changed(place(one, None), swapTargetDomain={"value": "Schema"}, swapTargetName={"value": other})
    for one, other in (("D.S", "D.T"), ("D.T", "D.S"))
]
MOVES: Final[dict[str, tuple[list[dict[str, Any]], str, str]]] = {
    "rename": ([RENAMED], "D.S2.A", DONE["rename"]),
    "rename-of-database": (
        [changed(place("D", 70), objectName={"value": "D2"})], "D2.S.A",
        "D was renamed to D2 at 2026-01-01T00:03:00Z (query q3)",
    ),
    "swap": (
        [SWAPPED_ALONE[0], {**SWAPPED_ALONE[1], "again": True}], "D.T.A",
        "D.S was swapped with D.T at 2026-01-01T00:03:00Z (query q3)",
    ),
}  # fmt: skip
TAKEN: Final = {
    name: [FILL, MASKED, *moves, read(SOURCE), changed(table(new, 9), "REPLACE"), read(table(new, 9), "BEN")]
    for name, (moves, new, _) in MOVES.items()
}
OF_FORMER: Final[dict[str, dict[str, str]]] = {
    "root-cause": {"column_name": "C"}, "column-copies": {"column_name": "C"},
    "lineage-as-of": {"at": "2026-01-01T00:04"}, "writers": {}, "end-up": {}, "former-names": {}, "who-accessed": {},
    "unmasked-reads": {}, "tag-history": {},
}  # fmt: skip
"""Questions of which the former object under the name is a part, and of a time at which it had it."""


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(TAKEN, tmp_path_factory.mktemp("taken"))


@pytest.mark.parametrize("story", TAKEN)
@pytest.mark.parametrize("question", OF_FORMER)
def test_the_way_back_from_a_new_name_is_told_though_another_object_has_it(
    question: str, story: str, taken: Store
) -> None:
    """Table 3 was D.S.A, and had the new name until table 9 took it."""
    _, new, done = MOVES[story]
    (told,) = on_containers(stories.of(story, taken), question, object_name=new, **OF_FORMER[question])
    assert told.startswith(done)
    assert told.endswith("Ask for D.S.A, too.")


@pytest.mark.parametrize("story", TAKEN)
def test_it_is_not_told_of_a_time_in_which_the_other_object_had_the_name(story: str, taken: Store) -> None:
    graph, new = stories.of(story, taken), MOVES[story][1]
    assert on_containers(graph, "lineage-as-of", object_name=new, at="2026-01-01T00:05:30") == []
    assert on_containers(graph, "who-accessed", object_name=new, since="2026-01-01T00:05:30") == []
    assert on_containers(graph, "exposure", object_name=new) == []
    assert on_containers(graph, "writers", object_id="9", domain="Table") == []


@pytest.mark.parametrize("story", TAKEN)
@pytest.mark.parametrize("given", [{}, {"object_name": ""}])
def test_what_another_object_lost_with_the_new_name_is_told(story: str, given: dict[str, str], taken: Store) -> None:
    graph, new = stories.of(story, taken), MOVES[story][1]
    since = {"since": "2026-01-01T00:04"}
    for question, in_time in (("unmasked-reads", {}), ("unmasked-copies", {}), ("changes", since)):
        named = {**dict.fromkeys(given, new), **in_time} if question == "unmasked-reads" else in_time
        notes = ask(graph, find(question), named).notes
        (note,) = [one for one in notes if "got the name of one that was masked" in one]
        assert f": {new}.C (object_id=9 since 2026-01-01T00:05:00Z; masked: object_id=3)." in note
        assert not any("does not apply" in one for one in notes)
    for question in ("policy-coverage", "tag-history", "changes"):
        named = since if question == "changes" else dict.fromkeys(given, new)
        if named or question == "policy-coverage":
            notes = ask(graph, find(question), named).notes
            (note,) = [one for one in notes if "got the name of one that had a tag" in one]
            assert f": {new} (object_id=9 since 2026-01-01T00:05:00Z; D.S.PII: object_id=3)." in note


def test_it_is_told_of_what_rows_give_by_name_alone(tmp_path: Path) -> None:
    made = changed(table("D.S2.A", None), "REPLACE")
    rows = [copied(SOURCE, table("D.S.A", None)), read(SOURCE), RENAMED, made, read(table("D.S2.A", None))]
    graph = stories.told({"names": rows}, tmp_path)
    for question in ("root-cause", "writers", "former-names", "who-accessed"):
        (told,) = on_containers(graph, question, object_name="D.S2.A", **OF_ONE[question])
        assert told.startswith(DONE["rename"])
        assert told.endswith("Ask for D.S.A, too.")


def test_what_a_swap_alone_gave_the_names_of_masked_objects_is_told(tmp_path: Path) -> None:
    """No row names table 4 as D.S.A, which it is since the SWAP; one that is read under its old name later is not."""
    rows = [FILL, MASKED, copied(SOURCE, B), *MOVES["swap"][0], read(SOURCE)]
    graphs = stories.told({"open": rows, "seen": [*rows, read(A), read(B)]}, tmp_path)
    for story, expected in (("open", True), ("seen", False)):
        notes = ask(stories.of(story, graphs), find("unmasked-reads"), {}).notes
        said = "D.S.A.C (object_id=4 since 2026-01-01T00:04:00Z; masked: object_id=3)."
        assert any(said in note for note in notes) == expected


def test_pages_of_the_new_name_say_it(tmp_path: Path) -> None:
    rows, lines = days("rename", TAKEN["rename"])
    with sited(exported(flat(rows), flat(lines), tmp_path / "out")) as site:
        client = server.make(site, "127.0.0.1").test_client()
        thing = site.by_name("D.S2.A")[0]
        assert thing is not None
        said = re.compile(r"D\.S was renamed to D\.S2 at [^.]*\. No row [^.]*D\.S2\.A [^.]*\. Ask for D\.S\.A, too\.")
        for path in ("/object?name=D.S2.A", f"/object?id={site.path(thing.iri)}"):
            assert said.search(re.sub("<[^>]*>", "", client.get(path).text)), path
