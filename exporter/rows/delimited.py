"""Read CSV into records by the rules of Spark's reader, so that both engines give the same rows and places.

The line end of the file's first line (LF, CR LF or CR) ends a record, except within quotes. Empty records are skipped.
A quote within quotes is doubled. White space after a closing quote is ignored. If other text follows the quote, the
field is everything up to the next delimiter, quotes included. A quote that is never closed takes the rest of the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_BLANKS: Final = "".join(map(chr, range(0x21)))
_QUOTED: Final = re.compile(r'"([^"]*+(?:""[^"]*+)*+)')


class Fields(NamedTuple):
    """A record. ``values``: its fields, None for an empty field without quotes. ``text``: the record as in the file."""

    values: list[str | None]
    text: str


def records(text: str, delimiter: str) -> Iterator[Fields]:
    """The records of a CSV's text, the header first."""
    reader = _Reader(text, delimiter)
    while reader.at < len(text):
        start, values = reader.at, [reader.field()]
        while reader.skips(delimiter):
            values.append(reader.field())
        end = reader.at
        reader.skips(reader.line_end)
        if text[start:end].strip("\n"):
            yield Fields(values, _without_line_end(text[start : reader.at]))


class _Reader:
    """Reads a CSV text field by field."""

    def __init__(self, text: str, delimiter: str) -> None:
        first = _LINE_END.search(text)
        self.text = text
        self.at = 0
        self.line_end = first[0] if first else "\n"
        self.field_end = re.compile(rf"{re.escape(delimiter)}|{self.line_end}|\Z")

    def skips(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def field(self) -> str | None:
        """The next field."""
        if not self.text.startswith('"', self.at):
            return self._to_end() or None
        found = _QUOTED.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        inner = found[1].replace('""', '"')
        inner = inner.replace("\r\n", "\n") if self.line_end == "\r\n" else inner
        if self.at == len(self.text):
            return inner or '"'
        self.at += 1
        return inner if self._is_closed() else f'"{inner}"{self._to_end()}'

    def _is_closed(self) -> bool:
        """Whether only white space is left of the field. If so, it is skipped."""
        end = self._end()
        if self.text[self.at : end].strip(_BLANKS):
            return False
        self.at = end
        return True

    def _to_end(self) -> str:
        start, self.at = self.at, self._end()
        return self.text[start : self.at]

    def _end(self) -> int:
        """The offset at which the current field ends: the next delimiter, line end or end of file."""
        found = self.field_end.search(self.text, self.at)
        assert found is not None
        return found.start()


def _without_line_end(text: str) -> str:
    return next((text.removesuffix(end) for end in ("\r\n", "\n", "\r") if text.endswith(end)), text)
