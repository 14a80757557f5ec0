"""docs/graph.md is true: its Turtle is from the valid example, its SPARQL runs, and its links exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdflib import Graph

from tests.ask.asked import answer
from tests.graph.shape_graphs import ROOT, VALID

if TYPE_CHECKING:
    from pathlib import Path

PAGE: Final = (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """What the page shows in a language."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found


def test_the_turtle_is_a_piece_of_the_valid_example() -> None:
    prefixes = "".join(re.findall(r"^@prefix .*\n", VALID.read_text(encoding="utf-8"), re.MULTILINE))
    shown = Graph().parse(data=prefixes + "".join(blocks("turtle")), format="turtle")
    assert len(shown) > 10
    assert set(shown) <= set(Graph().parse(VALID))


def own(number: int, folder: Path) -> str:
    file = folder / "own.rq"
    file.write_text(blocks("sparql")[number], encoding="utf-8")
    return str(file)


def test_what_a_query_made_is_its_versions_of_objects(tmp_path: Path) -> None:
    assert answer(own(0, tmp_path), VALID, {}).rows == [("snowflake://ACME-PROD/table/13", "D.S.T")]


def test_the_question_by_a_name_runs(tmp_path: Path) -> None:
    question = own(2, tmp_path)
    assert answer(question, VALID, {"object_name": "d.s.t"}).rows == []
    assert len(answer(question, VALID, {"object_id": "12"}).rows) == 1


def test_the_question_with_parameters_runs(tmp_path: Path) -> None:
    question = own(1, tmp_path)
    assert answer(question, VALID, {"warehouse": "WH"}).rows == [("q-2", "2000")]
    assert answer(question, VALID, {"warehouse": "WH", "since": "2024-02-04"}).rows == []


def test_the_links_exist() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", PAGE) if not link.startswith("https:")]
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
