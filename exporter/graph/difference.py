"""What of one graph is not in another, as N-Triples; and the same as SPARQL 1.1 Update.

Triples are told apart by the N-Triples that one parser gives of them. There are no blank nodes in our graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import RdfFormat, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEPARATORS: Final = {"ttl": "\n\n", "nt": "\n", "nq": "\n"}
"""By how a file ends, what is between its parts: each part can be read apart from the others."""
_FORMATS: Final = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS}
_OPENING: Final = "@base"
_TRIPLES: Final = 5_000
"""In one operation of an update: stores take an operation as a whole."""


def triples(parts: Iterable[str], ending: str, opening: str) -> Iterator[str]:
    """The triples of parts of a graph's files, a line each without its end; ``opening``: what Turtle needs before."""
    text = SEPARATORS[ending].join(part for part in parts if part.strip() and not part.startswith(_OPENING))
    if text:
        for found in parse((opening + text).encode(), _FORMATS[ending]):
            yield f"{found.subject} {found.predicate} {found.object} ."


def parts_of(text: str, ending: str) -> list[str]:
    """A file in its parts."""
    return text.split(SEPARATORS[ending])


def update(changes: Iterable[tuple[bool, str]]) -> Iterator[str]:
    """Triples that are added (True) or removed, the removed ones first, as the lines of an update."""
    count, was_added = 0, None
    for is_added, triple in changes:
        if is_added is not was_added or count == _TRIPLES:
            if was_added is not None:
                yield "} ;"
            yield "INSERT DATA {" if is_added else "DELETE DATA {"
            count, was_added = 0, is_added
        yield triple
        count += 1
    if was_added is not None:
        yield "}"
