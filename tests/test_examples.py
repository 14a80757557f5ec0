"""The examples: the outputs of their rows, and answers from their graphs. A new folder is a new case without code."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import find
from tests import golden, shared
from tests.ask.asked import answer

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS: Final = golden.folders()
ANSWERS: Final = [
    (folder, asked, rows)
    for folder in FOLDERS
    if (folder / "answers.json").is_file()
    for asked, rows in json.loads((folder / "answers.json").read_text(encoding="utf-8")).items()
]
CORPUS: Final = {
    json.dumps(json.loads(path.read_text(encoding="utf-8"))["rows"], sort_keys=True): path.stem
    for path in shared.CORPUS.glob("*.json")
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One export of all examples."""
    return golden.export_together(FOLDERS, tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_is_complete(folder: Path) -> None:
    missing = [name for name in ("events.json", "graph.ttl") if not (folder / name).is_file()]
    assert not missing, f"{folder.name}: there is no {' and no '.join(missing)}; make them: {golden.command(folder)}"
    assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) >= 3


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_rows_become_this_graph(folder: Path, out: Path) -> None:
    made, expected = golden.triples_of(folder, out), golden.triples([folder / "graph.ttl"])
    assert sorted(made - expected) == [], f"more than the example says; if it is right: {golden.command(folder)}"
    assert sorted(expected - made) == [], f"less than the example says; if it is right: {golden.command(folder)}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_rows_become_these_events(folder: Path, out: Path) -> None:
    made = golden.events_of(folder, out)
    assert made == golden.expected_events(folder), f"if they are right: {golden.command(folder)}"


@pytest.mark.parametrize(("folder", "asked", "rows"), ANSWERS, ids=[f"{one[0].name}-{one[1]}" for one in ANSWERS])
def test_the_graph_answers_what_the_documents_do(folder: Path, asked: str, rows: list[list[Any]]) -> None:
    """The key is the question's name and, in brackets, its parameters in their order."""
    match = re.fullmatch(r"([a-z-]+)(?:\((.*)\))?", asked)
    assert match, f"{folder.name}/answers.json: {asked} is no question"
    values = match.group(2).split(", ") if match.group(2) else []
    names = [parameter.name for parameter in find(match.group(1)).parameters]
    found = answer(match.group(1), folder / "graph.ttl", dict(zip(names, values, strict=False)))
    assert sorted(found.rows, key=str) == sorted((tuple(map(_cell, row)) for row in rows), key=str)


def _cell(cell: Any) -> str | None:
    return ", ".join(cell) or None if isinstance(cell, list) else cell


def test_the_thirteen_questions_of_the_documents_are_answered() -> None:
    asked = {re.split(r"\(", question)[0] for _, question, _ in ANSWERS}
    assert asked == {
        "ancestors", "column-lineage", "columns-accessed", "enforced-policy", "joins", "masking-policies",
        "row-access-policies", "sensitive-data-movement", "statements-of-request", "tag-history", "user-history",
        "when-accessed", "who-accessed",
    }  # fmt: skip


@shared.needs(shared.CORPUS)
def test_the_examples_hold_the_documents_rows() -> None:
    held = {json.dumps(golden.rows(folder), sort_keys=True) for folder in FOLDERS}
    assert {name for rows, name in CORPUS.items() if rows not in held} == set()
