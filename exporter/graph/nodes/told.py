"""What the nodes of one query are made from, computed once: its facts, the answers to it, its effects, its IRIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.queries.effects import effects
from exporter.queries.identifiers import segment

if TYPE_CHECKING:
    from exporter.graph.iri import Iris
    from exporter.queries.facts import QueryFacts
    from exporter.things.answers import Answers


class Told:
    """A query with its facts and answers. ``query``: its IRI; ``version``: the state that it made."""

    __slots__ = ("answers", "content", "effects", "end", "facts", "iris", "query", "start", "version")

    def __init__(self, facts: QueryFacts, answers: Answers, iris: Iris) -> None:
        self.facts = facts
        self.answers = answers
        self.iris = iris
        self.content = facts.content
        self.effects = effects(facts.content)
        self.start = facts.start
        self.end = facts.end
        self.query = iris.query(facts.query_id)
        self.version = f"version/{segment(facts.query_id)}"
