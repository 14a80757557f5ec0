"""Facts written by hand for the tests of the graph: queries, answers and objects without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.iri import Iris
from exporter.graph.nodes.queries import run_nodes, statement_nodes
from exporter.graph.nodes.versions import QueryContext
from exporter.model.facts import Access, Column, Content, Derivation, ObjectReference, QueryFacts, Write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.terms import Node, Values
    from exporter.model.answers import Answers

ACCOUNT: Final = "ACME-PROD"
BASE: Final = "snowflake://ACME-PROD/"
IRIS: Final = Iris(ACCOUNT, ACCOUNT, BASE)
NINE: Final = 1_767_258_000_000_000  # 2026-01-01T09:00:00Z
TEN: Final = NINE + 3_600_000_000
HARD: Final = [
    'a "quote"', "it's", "back\\slash", "\\n is no newline", "line\nbreak", "carriage\r\nreturn", "tab\t", "nul\0nul",
    "\u2028 and \u2029", "\u0085", "🦖 é", "é", "'''", '"""', '\\"', "\\", '"', "\x01\x1f\x7f", "\ufeff", "<a> .",
    "@base", "{}[]^`|", " ", "\u00a0", "\\u0041", "ends with \\", "x" * 100_000,
]  # fmt: skip


def table(number: int, name: str | None = None) -> ObjectReference:
    return ObjectReference(f"table/{number}", "table", "TABLE", str(number), name)


def columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


def copied(source: ObjectReference, column: str, target: ObjectReference, to: str) -> Content:
    """One column into another: a direct and a base read, a write, a derivation."""
    read = columns(column)
    return Content(
        accesses=(Access("BASE", source, read), Access("DIRECT", source, read)),
        writes=(Write(target, columns(to)),),
        derivations=(Derivation(target.key, target.name, to, "DIRECT", source, column),),
    )


def query(content: Content = Content(), query_id: str = "q1", **more: object) -> QueryFacts:  # noqa: B008 - it is frozen
    return QueryFacts(ACCOUNT, query_id, NINE, "ETL", content, **more)  # type: ignore[arg-type]  # any facts of a test


def told(facts: QueryFacts, answers: Answers, iris: Iris = IRIS) -> dict[str, Node]:
    """The nodes of a query by their IRIs, each of which there is once."""
    return by_iri(of_query(facts, answers, iris))


def of_query(facts: QueryFacts, answers: Answers, iris: Iris = IRIS) -> list[Node]:
    """The query, its parts, and the versions that it made; the query is the first."""
    context = QueryContext(facts, answers, iris)
    of_statement, links = statement_nodes(context)
    return [*run_nodes(context, links), *of_statement]


def by_iri(nodes: Iterable[Node]) -> dict[str, Node]:
    every = list(nodes)
    found = {node.iri: node for node in every}
    assert len(found) == len(every)
    for node in every:
        assert_sound(node)
    return found


def of_class(nodes: dict[str, Node], name: str) -> dict[str, Values]:
    """Values of the nodes that have a class."""
    return {iri: node.values for iri, node in nodes.items() if name in node.types}


def assert_sound(node: Node) -> None:
    """It has what its class says, in the order in which the class says it, and each value once."""
    order = [one.term for one in node.of.properties]
    assert list(node.values) == sorted(node.values, key=order.index)
    for one in node.of.properties:
        values = node.values.get(one.term, ())
        assert isinstance(values, tuple)
        assert len(set(values)) == len(values)
        assert len(values) >= one.required
        assert one.many or len(values) <= 1
        assert one.term not in node.values or values
    if not node.of.typed:
        assert node.types == node.of.types
