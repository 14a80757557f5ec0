"""The triples that one graph has and another has not, as N-Triples and as SPARQL 1.1 Update.

Triples are compared by the N-Triples line that one parser makes of them. Our graphs have no blank nodes, so equal
triples have equal lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import RdfFormat, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEPARATORS: Final = {"ttl": "\n\n", "nt": "\n", "nq": "\n"}
"""By file ending: what separates the parts of a file. Each part can be parsed without the others."""
_FORMATS: Final = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS}
_OPENING: Final = "@base"
_TRIPLES: Final = 5_000
"""How many triples one operation of an update has at most: stores hold a whole operation in memory."""


def triples(parts: Iterable[str], ending: str, opening: str) -> Iterator[str]:
    """The triples of parts of graph files, one line each without line end; ``opening``: the prefixes that Turtle
    needs.
    """
    text = SEPARATORS[ending].join(part for part in parts if part.strip() and not part.startswith(_OPENING))
    if text:
        for found in parse((opening + text).encode(), _FORMATS[ending]):
            yield f"{found.subject} {found.predicate} {found.object} ."


def parts_of(text: str, ending: str) -> list[str]:
    """The parts of a file, each of which parses without the others."""
    return text.split(SEPARATORS[ending])


def update(changes: Iterable[tuple[bool, str]], *, is_begun: bool = False) -> Iterator[str]:
    """An update, line by line, from triples that are added (True) or removed (False); removed ones have to come
    first. ``is_begun``: the lines follow those of other changes.
    """
    count, was_added = 0, None
    for is_added, triple in changes:
        if is_added is not was_added or count == _TRIPLES:
            if was_added is not None:
                yield "}"
            operation = "INSERT DATA {" if is_added else "DELETE DATA {"
            yield f"; {operation}" if is_begun else operation
            count, was_added, is_begun = 0, is_added, True
        yield triple
        count += 1
    if was_added is not None:
        yield "}"
