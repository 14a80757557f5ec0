"""Names that try to break out of their syntax, and rows that have them in every field."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from tests.model import every_field

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL: Final = "urn:evil"
"""An IRI that nothing but a payload that broke out can have brought into a graph."""
_TRIPLE: Final = f"<{EVIL}> <{EVIL}> <{EVIL}>"
PAYLOADS: Final = (
    # Turtle, N-Triples and IRIs
    f'" . {_TRIPLE} . #', f"\n{_TRIPLE} .\n", f'""" . {_TRIPLE} .', f"> . {_TRIPLE} . <", "\\", '\\" .',
    "\\u003e", "\\U0000003E", "'", f"@prefix : <{EVIL}> .", "://", EVIL, "https://evil.example/#x",
    "file:///etc/passwd", "a b", "a^b`c{d}|e",
    # JSON and SPARQL
    '"}\n{"evil":1}', '","evil":"', '" } # ', "} ; DROP ALL #", "*/",
    '" . SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } #',
    # HTML, templates and shells
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;", "]]>", "{{7*7}}", "${HOME}", "$(id)", "`id`",
    # cells of spreadsheets
    '=HYPERLINK("http://evil.example")', "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1",
    "'=1", "\uff1d1", ";=1",
    # paths and file names
    "../../etc/passwd", "..", ".", "%2e%2e%2f", "%00", "C:\\CON", "a/b", "~", "-rf",
    # terminals, and what looks like something else
    "\x1b]0;evil\x07\x1b[2J", "\x9b31m", "\x00", "\x7f", "\b\b\b", "\r\nexporter: done", "\u202egnp.",
    "\u2066", "\u2028", "\u200b", "\ufeff", "e\u0301", "\u0435", "\U0001f996", "\ufffe", "TRUNCATED", "null",
    "\\N", "UNDEF", " ", "L" * 3000,
)  # fmt: skip


class Hostile(every_field.Said):
    """Words with a payload before or behind them, in turn; numbers stay numbers."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._payloads = cycle([*PAYLOADS[first:], *PAYLOADS[:first]])
        self._begins = cycle((True, False, False))

    def word(self, field: str) -> str:
        word = super().word(field)
        if word.isdecimal():
            return word
        payload = next(self._payloads)
        self.words[field][-1] = f"{payload}{word}" if next(self._begins) else f"{word}{payload}"
        return self.words[field][-1]


def rows() -> Iterator[dict[str, Any]]:
    """Rows with payloads in every field, those of DDL too."""
    for first in range(0, len(PAYLOADS), 7):
        said = Hostile(first)
        yield every_field.full_row(said)
        for change in every_field.changes(said):
            yield {**change, "query_id": f"{change['query_id']} of {first}", "user_name": said.word("user_name")}
