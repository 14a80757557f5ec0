"""The triples that one graph has and another has not, as N-Triples and as SPARQL 1.1 Update.

Triples are compared by the N-Triples line that one parser makes of them. Our graphs have no blank nodes, so equal
triples have equal lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyoxigraph import RdfFormat, parse

from exporter.graph.terms import full

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEPARATORS: Final = {"ttl": "\n\n", "nt": "\n", "nq": "\n"}
"""By file ending: what separates the parts of a file. Each part can be parsed without the others."""
_FORMATS: Final = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS}
_OPENING: Final = "@base"
SAID_ONCE: Final = (
    rf"^<[^>]*/(reads/\d{{4}}-\d\d-\d\d/[^>]*|part/[0-9a-f]+)> |^<[^>]*> <{re.escape(full('ah:lastSeen'))}> "
)
"""The beginning of a line of N-Triples that one place of an export alone has: about reads of one day, or when a name
was last seen, which follows from all days. Most triples that an update removes are such. Any other may be in several
days: about objects and accounts that each of them mentions, nodes that queries share, classes of what one day sets and
another ends."""
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


def subjects(lines: Iterable[str], base: str) -> set[str]:
    """The subjects of triples as a part of a file begins with them: whole, and in Turtle relative to the base."""
    whole = {line.partition(" ")[0] for line in lines}
    return whole | {f"<{one[len(base) + 1 :]}" for one in whole if base and one.startswith(f"<{base}")}


def subject_of(part: str) -> str:
    """The subject with which a part of a file begins."""
    return part.partition(" ")[0]


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
