"""The model of the graph as text, and the files that say what it means: what is needed to write right SPARQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from exporter.ask.shipped import questions
from exporter.errors import UsageError
from exporter.graph.terms import NodeClass, Property
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.system.files import docs_dir, ontology_dir

SCHEME: Final = "access-history://"
"""Of the addresses of resources."""
QUESTION: Final = f"{SCHEME}questions/"
"""Before the name of a question: the URI of its SPARQL."""


class File(NamedTuple):
    """A resource. ``path``: None for the model, which is made."""

    name: str
    title: str
    description: str
    media_type: str
    path: Path | None


_MARKDOWN: Final = "text/markdown"
FILES: Final[Mapping[str, File]] = {
    f"{SCHEME}{file.name}": file
    for file in (
        File("model", "The model of the graph", "Classes, properties, rules and examples, in short.", _MARKDOWN, None),
        File(
            "ontology", "The ontology", "All terms with their meaning, in Turtle.", "text/turtle",
            ontology_dir() / "access-history.ttl",
        ),
        File(
            "graph", "The graph, in full", "How the graph is made from rows, and how questions use it.", _MARKDOWN,
            docs_dir() / "graph.md",
        ),
        File(
            "questions", "The questions", "Each shipped question with an answer of an example.", _MARKDOWN,
            docs_dir() / "questions.md",
        ),
        File(
            "not-recorded", "What is not recorded", "What no row says, so that answers lack it.", _MARKDOWN,
            docs_dir() / "not-recorded.md",
        ),
    )
}  # fmt: skip
"""By URI."""


@cache
def model() -> str:
    """The guide, and all classes with their properties."""
    guide = (Path(__file__).parent / "guide.md").read_text(encoding="utf-8")
    lines = (line for node in NODE_CLASSES for line in _of_class(node))
    return f"{guide}\n## Classes\n\nA property with * can have several values; ? that it can be missing.\n" + "".join(
        lines
    )


def _of_class(node: NodeClass) -> Iterator[str]:
    also = f" ({', '.join(node.also)})" if node.also else ""
    yield f"\n- {node.name}{also}: {', '.join(map(_property_text, node.properties))}"


def _property_text(node_property: Property) -> str:
    sign = ("*" if node_property.many else "") or ("" if node_property.required else "?")
    return f"{node_property.term}{sign} {node_property.range}"


def read(uri: str) -> tuple[str, str]:
    """The media type and the text of a resource. Raises UsageError where there is none."""
    if uri.startswith(QUESTION):
        by_name = {question.name: question for question in questions()}
        if question := by_name.get(uri.removeprefix(QUESTION)):
            return "application/sparql-query", question.query
    if file := FILES.get(uri):
        return file.media_type, model() if file.path is None else file.path.read_text(encoding="utf-8")
    raise UsageError(f"There is no resource {uri}, but: {', '.join(FILES)}, and {QUESTION}NAME.")
