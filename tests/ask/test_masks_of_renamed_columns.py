"""A mask that queries enforced and no row sets, since it is older than the record, goes on under the new name of a
renamed column (docs/graph.md, "Names": tags and policies go on under the new name), as one does that a row sets.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.enforced_alone import ENFORCED
from exporter.serve.periods import settings
from exporter.serve.site import PageSubject
from tests.ask import stories
from tests.ask.test_masked_before_the_record import OTHER, POLICY, TAG, of_mask, of_tag
from tests.ask.test_names import MASK, asked, at, changed, read, renamed, thing
from tests.ask.updated_stories import assert_updates_give_the_same
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
T, COPY = thing("T", 1), thing("COPY", 2)
SET: Final = changed(T, columns={"E": of_mask("ADD")})
MASKED_TAG: Final = changed(TAG, **of_mask("ADD"))


def of(column: str) -> Json:
    return thing("T", 1, columns=(column,))


def enforced(column: str) -> Json:
    policies = [{"columnName": column, "policies": [MASK]}]
    return {**read(of(column), "EVE"), "policies_referenced": [{**T, "columns": policies}]}


def to(**names: str) -> Json:
    return changed(T, columns={old: {"objectName": {"value": new}} for old, new in names.items()})


def on(column: str, **properties: Any) -> Json:
    return changed(T, columns={column: properties})


def copied(column: str) -> Json:
    source = {key: value for key, value in T.items() if key != "columns"}
    filled = {"columnName": "C", "directSources": [{**source, "columnName": column}]}
    return {**read(of(column), "ETL"), "objects_modified": [{**COPY, "columns": [filled]}]}


MASK_OF_E: Final[dict[str, tuple[list[Json], dict[str, str]]]] = {
    "once": ([to(E="F"), read(of("F"))], {"ANA": "WHILE"}),
    "again": ([to(E="F"), read(of("F")), enforced("F"), read(of("F"), "BEN")], {"ANA": "WHILE", "BEN": "WHILE"}),
    "twice": ([to(E="F"), to(F="G"), read(of("G"))], {"ANA": "WHILE"}),
    "back": ([to(E="F"), to(F="E"), read(of("E"))], {"ANA": "WHILE"}),
    "swapped": (
        [to(E="X"), to(F="E"), to(X="F"), read(of("E")), read(of("F"), "BEN")], {"ANA": "AFTER", "BEN": "WHILE"},
    ),
    "swapped-at-once": (
        [to(E="F", F="E"), read(of("E")), read(of("F"), "BEN")], {"ANA": "AFTER", "BEN": "WHILE"},
    ),
    "another-with-the-name": (
        [to(E="F"), on("E", subOperationType="ADD"), read(of("E")), read(of("F"), "BEN")],
        {"ANA": "AFTER", "BEN": "WHILE"},
    ),
    "unset-later": ([to(E="F"), on("F", **of_mask("DROP")), read(of("F"))], {"ANA": "AFTER"}),
    "unset-before": ([on("E", **of_mask("DROP")), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "dropped-later": (
        [to(E="F"), on("F", subOperationType="DROP"), on("F", subOperationType="ADD"), read(of("F"))],
        {"ANA": "AFTER"},
    ),
    "made-anew": ([to(E="F"), changed(T, "REPLACE"), read(of("F"))], {"ANA": "AFTER"}),
    "made-anew-before": ([changed(T, "REPLACE"), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "policy-dropped": ([changed(POLICY, "DROP"), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "policy-back": (
        [changed(POLICY, "DROP"), to(E="F"), changed(POLICY, "UNDROP"), read(of("F"))], {"ANA": "WHILE"},
    ),
    "policy-replaced": ([to(E="F"), changed(POLICY, "REPLACE"), read(of("F"))], {"ANA": "AFTER"}),
    "policy-replaced-before": ([changed(POLICY, "REPLACE"), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "copied-later": ([to(E="F"), copied("F"), read(COPY)], {"ETL": "WHILE"}),
    "copied-before": ([copied("E"), to(E="F"), read(COPY)], {"ETL": "WHILE"}),
}  # fmt: skip
"""What happened after a query enforced the mask on column E, and what is said of unmasked reads."""
OF_IDS: Final[dict[str, tuple[list[Json], dict[str, str]]]] = {
    "table-renamed": ([renamed(T, "T2"), to(E="F"), renamed(T, "T3"), read(of("F"))], {"ANA": "WHILE"}),
}
"""Without ids, the table with another name is another table."""
MASK_OF_A_TAG: Final[dict[str, tuple[list[Json], dict[str, str]]]] = {
    "tag-unset-before": ([MASKED_TAG, on("E", **of_tag("DROP")), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "tag-unset-later": ([MASKED_TAG, to(E="F"), on("F", **of_tag("DROP")), read(of("F"))], {"ANA": "AFTER"}),
    "tag-of-the-table-unset-before": (
        [MASKED_TAG, changed(T, **of_tag("DROP")), to(E="F"), read(of("F"))], {"ANA": "AFTER"},
    ),
    "unset-from-the-tag-before": ([changed(TAG, **of_mask("DROP")), to(E="F"), read(of("F"))], {"ANA": "AFTER"}),
    "tag-of-another-table-unset": (
        [MASKED_TAG, changed(OTHER, **of_tag("DROP")), to(E="F"), read(of("F"))], {"ANA": "WHILE"},
    ),
}  # fmt: skip


WITHOUT_TAG: Final = "As far as rows tell, masked and without a tag of its own, and so not in the answer: "
UNTAGGED: Final[dict[str, tuple[list[Json], str]]] = {
    "once": ([to(E="F")], "D.S.T.F."),
    "back": ([to(E="F"), to(F="E")], "D.S.T.E."),
    "swapped": ([to(E="X"), to(F="E"), to(X="F")], "D.S.T.F."),
    "unset": ([to(E="F"), on("F", **of_mask("DROP"))], ""),
    "read-in-clear": ([to(E="F"), read(of("F"))], ""),
    "policy-replaced": ([to(E="F"), changed(POLICY, "REPLACE")], ""),
    "policy-replaced-before": ([changed(POLICY, "REPLACE"), to(E="F")], ""),
    "later": ([read(OTHER), read(OTHER), to(E="F")], "D.S.T.E."),
}
"""What happened after a query enforced the mask, and what is masked three minutes later."""


def without_ids(rows: list[Json]) -> list[Json]:
    def stripped(said: Any) -> Any:
        if isinstance(said, list):
            return [stripped(each) for each in said]
        if isinstance(said, dict):
            return {key: stripped(each) for key, each in said.items() if key not in {"objectId", "policyId"}}
        return said

    return [stripped(row) for row in json.loads(json.dumps(rows))]


@pytest.mark.parametrize(("reads", "ids"), [("full", True), ("daily", False), ("full", False)])
def test_a_mask_older_than_the_record_goes_on_under_the_new_name(reads: str, *, ids: bool, tmp_path: Path) -> None:
    """The same is said as where a row sets the mask before, of reads and of copies."""
    either = MASK_OF_E | (OF_IDS if ids else {})
    told = {
        **{name: [read(OTHER), enforced("E"), *rows] for name, (rows, _) in either.items()},
        **{f"{name}-set": [SET, enforced("E"), *rows] for name, (rows, _) in either.items()},
        **{name: [enforced("E"), *rows] for name, (rows, _) in MASK_OF_A_TAG.items()},
    }
    of_users = {
        name: [{**row, "user_name": f"{name} {row.get('user_name')}"} for row in (rows if ids else without_ids(rows))]
        for name, rows in told.items()
    }
    whole = stories.told(of_users, tmp_path, "--reads", reads)
    words = {
        **{
            f"{name} {user}": word
            for name, (_, said) in (either | MASK_OF_A_TAG).items()
            for user, word in said.items()
        },
        **{f"{name}-set {user}": word for name, (_, said) in either.items() for user, word in said.items()},
    }
    assert {row[0]: row[5] for row in asked("unmasked-reads", whole).rows} == words
    for name in ("copied-later", "copied-before", "copied-later-set", "copied-before-set"):
        copies = asked("unmasked-copies", stories.of(name, whole)).rows
        assert ("D.S.T", "F", "D.S.MASK", "D.S.COPY", "C") in copies, name


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_what_is_masked_without_a_tag_has_its_name_of_that_time(reads: str, tmp_path: Path) -> None:
    told = {name: [enforced("E"), *rows, read(OTHER)] for name, (rows, _) in UNTAGGED.items()}
    whole = stories.told(told, tmp_path, "--reads", reads)
    for name, (_, said) in UNTAGGED.items():
        notes = asked("policy-coverage", stories.of(name, whole), at=at(3.5 if name == "later" else 5)).notes
        found = [
            note.partition("and so not in the answer: ")[2] for note in notes if "without a tag of its own" in note
        ]
        assert found == ([said] if said else []), name


def test_a_tagged_column_and_its_page_have_the_mask_that_was_enforced_under_the_former_name(tmp_path: Path) -> None:
    rows = [enforced("E"), to(E="F"), on("F", **of_tag("ADD"))]
    graph = stories.told({"one": rows}, tmp_path)
    (note,) = (one for one in asked("policy-coverage", graph).notes if one.startswith("Enforced, but set by no row"))
    assert "D.S.MASK on D.S.T.F" in note
    with sited(tmp_path / "out") as site:
        table, _ = site.by_name("D.S.T")
        assert table is not None
        (note,) = settings(site, PageSubject(table), "F").notes
    assert note == f"{ENFORCED}D.S.MASK on F (E then), last on 2026-01-01."


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same({"renamed": [enforced("E"), to(E="F"), to(F="E"), to(E="F")]}, tmp_path)
    assert "keepsMask" in "".join(each.read_text() for each in (tmp_path / "once").rglob("*.ttl"))
