"""The questions that Snowflake's documents answer in SQL have the same answers in SPARQL, on a whole export of their
rows.

Each case is a separate account of one export, since the documents' examples use the same ids for different objects.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, Store, serialize

from exporter.graph.store import load
from tests import exports, shared
from tests.ask.asked import answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


CASES: Final = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(shared.CORPUS.glob("*.json"))
}
ANSWERS: Final = [
    (case, question, rows) for case, content in CASES.items() for question, rows in content["answers"].items()
]
GIVEN: Final = {
    "statements-of-request(6789)": {"query_id": "6789"},
    "sensitive-data-movement": {"object_name": "TEST_DB.TEST_SCHEMA.S1"},
    "enforced-policy": {"query_id": "01ad7987-0606-6e2c-0001-dd20f12a9777"},
    "tag-history(TEST_DB.TEST_SH.T, EMAIL)": {"object_name": "TEST_DB.TEST_SH.T", "column_name": "EMAIL"},
}
"""What the documents fill into their queries."""

pytestmark = shared.needs(shared.CORPUS)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The graph of all cases."""
    folder = tmp_path_factory.mktemp("documents")
    rows = [{**row, **_account(case)} for case, content in CASES.items() for row in content["rows"]]
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph") == 0
    return load(folder / "out")


def _account(case: str) -> dict[str, str]:
    return {"organization_name": "DOCUMENTS", "account_name": case}


@pytest.mark.parametrize(("case", "question", "rows"), ANSWERS, ids=[f"{case}-{name}" for case, name, _ in ANSWERS])
def test_the_documents_answer(case: str, question: str, rows: list[list[Any]], store: Store, tmp_path: Path) -> None:
    graph = tmp_path / "case.ttl"
    serialize(_of_account(store, case), output=graph, format=RdfFormat.TURTLE)
    name = re.split(r"\(", question)[0]
    found = answer(name, graph, GIVEN.get(question, {})).rows
    assert sorted(found, key=str) == sorted((tuple(_cell(cell) for cell in row) for row in rows), key=str)


def _cell(cell: Any) -> str | None:
    return ", ".join(cell) or None if isinstance(cell, list) else cell


def _of_account(store: Store, case: str) -> Iterator[Quad]:
    """What is said of the things of one account, and of locations, which belong to none."""
    own = f"snowflake://DOCUMENTS-{case}/"
    for quad in store:
        assert isinstance(quad.subject, NamedNode)
        if quad.subject.value.startswith(own) or not quad.subject.value.startswith("snowflake://"):
            yield quad.triple


def test_every_question_of_the_documents_is_asked() -> None:
    asked = {re.split(r"\(", question)[0] for _, question, _ in ANSWERS}
    assert asked >= {
        "ancestors", "column-lineage", "enforced-policy", "joins", "masking-policies", "row-access-policies",
        "sensitive-data-movement", "statements-of-request", "tag-history",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "given", "rows"),
    [
        ("who-accessed", {"object_id": "66564"}, [("JSMITH",)]),
        (
            "when-accessed",
            {"object_id": "66564"},
            [("a0fda135-d678-4184-942b-c3411ae8d1ce", "2022-01-25T16:17:47.388Z")],
        ),
        ("columns-accessed", {"object_id": "66564"}, [("CONTENT",)]),
        ("who-accessed", {"object_id": "66564", "since": "2022-01-26"}, []),
        ("who-accessed", {"object_id": "66564", "domain": "VIEW"}, []),
        (
            "user-history",
            {"user_name": "JSMITH"},
            [
                (
                    "JSMITH",
                    "a0fda135-d678-4184-942b-c3411ae8d1ce",
                    "2022-01-25T16:17:47.388Z",
                    "GOVERNANCE.FUNCTIONS.RETURN_SUM, GOVERNANCE.TABLES.T1",
                    "GOVERNANCE.FUNCTIONS.RETURN_SUM, GOVERNANCE.TABLES.T1",
                )
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_questions_that_the_documents_do_not_answer(
    question: str, given: dict[str, str], rows: list[tuple[str]], store: Store, tmp_path: Path
) -> None:
    """Their SQL is printed without a result; this is what it gives for the view's own example."""
    graph = tmp_path / "case.ttl"
    serialize(_of_account(store, "view-example"), output=graph, format=RdfFormat.TURTLE)
    assert answer(question, graph, given).rows == rows
