"""Marked sub-SELECTs of a question are asked by themselves, and their rows take their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from exporter.ask import questions
from exporter.ask.answers import with_found
from exporter.ask.parameters import bind
from exporter.ask.questions import find, select, with_objects_found
from exporter.graph.store import load
from tests.ask.test_views import MONTH
from tests.exports import export

if TYPE_CHECKING:
    from exporter.ask.answers import Found

QUERY = """PREFIX t: <http://x/#>
SELECT ?a ?b ?c WHERE {
  {
    # Found first, by itself.
    SELECT ?a (MIN(?n) AS ?b) WHERE {
      {
        # Found first, by itself.
        SELECT ?a ?n WHERE { ?a t:n ?n FILTER(STR(?n) != "}" && STR(?n) != '{') }  # } is no end
      }
    }
    GROUP BY ?a
  }
  OPTIONAL {
    {
        # Found first, by itself.
        SELECT ?a ?n WHERE { ?a t:n ?n FILTER(STR(?n) != "}" && STR(?n) != '{') }  # } is no end
    }
    ?a t:c ?c
  }
}
"""


def graph() -> Store:
    store = Store()
    for subject, predicate, value in (("x", "n", "1"), ("x", "n", "}"), ("y", "n", 'a"\n\\'), ("y", "c", "{")):
        store.add(Quad(NamedNode(f"http://x/{subject}"), NamedNode(f"http://x/#{predicate}"), Literal(value)))
    return store


def test_each_is_asked_once_and_the_answer_stays() -> None:
    asked = list[str]()

    def found(part: str) -> Found:
        asked.append(part)
        rows = graph().query(part)
        return [str(variable) for variable in rows.variables], list(rows)

    query = with_found(QUERY, found)
    assert len(asked) == 2
    assert "t:n" not in query
    assert select(graph(), query, "found").rows == select(graph(), QUERY, "written").rows


def test_what_has_too_many_rows_stays_with_all_around_it() -> None:
    asked = list[str]()
    assert with_found(QUERY, asked.append) == QUERY
    assert len(asked) == 1


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Store:
    out = tmp_path_factory.mktemp("found") / "out"
    assert export([MONTH / "access_history.ndjson"], out, "--outputs", "graph") == 0
    return load(out)


@pytest.mark.parametrize("name", ["changes", "end-up", "tag-reach", "unmasked-copies", "unmasked-reads"])
def test_the_answer_is_the_same_however_many_are_found(
    name: str, company: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = find(name)
    query = bind(question.query, question.parameters, {"since": ["2026-01-01T00:00:00Z"]})
    expected = sorted(select(company, query, name).rows, key=str)
    assert expected
    for most in (0, 5, 10_000):
        monkeypatch.setattr(questions, "_MOST_FOUND", most)
        found = with_objects_found(company, query)
        assert ("Found first" in found) == (most < 10_000), most
        assert sorted(select(company, found, name).rows, key=str) == expected, most
