"""What is safe to show on a terminal: characters that move the cursor, or colour, hide or reverse text, are escaped.

Names in rows can contain escape sequences. So everything that the commands print passes through this module
(:func:`guarded`, in ``cli/``), to a terminal or to a file, which may be shown on a terminal later.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO, cast

from exporter.errors import ExporterError

_INVISIBLE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and line feed
    "\u00ad\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # of no width
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # of writing from right to left
    "\u2028\u2029\ud800-\udfff"  # ends of lines, halves of characters
)
_IN_TEXT: Final = re.compile(f"[{_INVISIBLE}]")
_IN_LINE: Final = re.compile(f"[{_INVISIBLE}\t\n]")
_NOT_INDENTED: Final = re.compile(f"[{_INVISIBLE}\t]|\n(?!  )")


def visible(text: str) -> str:
    r"""The text on one line, with escapes for controls, tabs, line ends, marks of direction and of no width.

    >>> visible("a\x1b[31m\u202e\nb")
    'a\\x1b[31m\\u202e\\nb'
    """
    return _IN_LINE.sub(_escaped, text)


def visible_text(text: str) -> str:
    """A text of several lines with such escapes; line ends and tabs are kept."""
    return _IN_TEXT.sub(_escaped, text)


def in_json(text: str) -> str:
    r"""JSON with these characters as JSON escapes (``\u009b``); its meaning is unchanged."""
    return _IN_TEXT.sub(_as_json, text)


def message(text: str) -> str:
    r"""A message, whose names and arguments cannot begin another: visible, with line ends only where the next line is
    indented, as in a list.

    >>> message("No B\nexporter: done. There is:\n  Table 7")
    'No B\\nexporter: done. There is:\n  Table 7'
    """
    return _NOT_INDENTED.sub(_escaped, text)


def counted(number: int, word: str, words: str = "") -> str:
    """The number with its word; ``words``: for several, by default with an s.

    >>> counted(1, "query", "queries"), counted(1200, "row")
    ('1 query', '1,200 rows')
    """
    return f"{number:,} {word if number == 1 else words or f'{word}s'}"


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def _as_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


class _Guarded:
    """A stream that makes texts safe; characters that its encoding cannot represent are escaped."""

    def __init__(self, stream: TextIO) -> None:
        self.bare = stream

    def write(self, text: str) -> int:
        shown = visible_text(text)
        try:
            return self.bare.write(shown)
        except UnicodeEncodeError as error:
            return self.bare.write(shown.encode(error.encoding, "backslashreplace").decode(error.encoding))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error within a ``with`` block. A stream that was closed when Python began is
    None, for which print takes the other one; in the block it is one that writes nothing.
    """
    before = sys.stdout, sys.stderr
    with Path(os.devnull).open("w", encoding="utf-8") as nothing:
        sys.stdout, sys.stderr = (cast("TextIO", _Guarded(bare(stream or nothing))) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def print_result(text: str, done: str) -> None:
    """Print what a command says when its work is done. Raises ExporterError if standard output cannot be written; it
    says what is ``done`` all the same, as the beginning of a sentence.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # its reader does not want more
        raise
    except OSError as error:
        raise ExporterError(f"{done}, but standard output cannot be written: {error.strerror}") from error


def bare(stream: TextIO) -> TextIO:
    """The stream without its guard: for progress, which moves the cursor, and for output that a program reads."""
    return stream.bare if isinstance(stream, _Guarded) else stream
