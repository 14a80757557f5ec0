"""Raw JSON in one spelling: what is kept of a row as JSON is the same text whichever form the row came in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from exporter.rows import lenient

if TYPE_CHECKING:
    from msgspec import Raw

_decode_text: Final = msgspec.json.Decoder(str).decode
_NULL: Final = b"null"
_BEYOND: Final = re.compile("[\U00010000-\U0010ffff]")
"""What UTF-16 writes as a pair of surrogates."""


def raw_json(text: str | bytes) -> str:
    """A text that holds a JSON array or object, in one spelling: no white space, escapes only where they must be (and,
    as two, of what is beyond U+FFFF), numbers in their own digits. Any other text as it is, and so is one that only
    begins like JSON.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    if not text.lstrip(" \t\n\r\f\v").startswith(("{", "[")):
        return text
    try:
        compact = msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return _patiently(text)
    if "\\u" in compact or "\\/" in compact:
        return _patiently(compact)
    return compact if compact.isascii() else _BEYOND.sub(lambda found: lenient.escaped(found[0]), compact)


def raw_text(value: bytes | Raw) -> str | None:
    """A JSON value as a column that is kept as JSON has it, in one spelling: None for null, what a string says."""
    found = bytes(value)
    if found == _NULL:
        return None
    return raw_json(_decode_text(found) if found.startswith(b'"') else found)


def text_of(value: bytes | Raw) -> str | None:
    """A JSON value as a column of text has it: None for null, what a string says, a number in its digits, the JSON of
    an array or object in one spelling.
    """
    found = bytes(value)
    if found == _NULL:
        return None
    return _decode_text(found) if found.startswith(b'"') else raw_json(found)


def _patiently(text: str) -> str:
    try:
        value, _ = lenient.parse_first(text)
    except lenient.NotJsonError:
        return text
    return lenient.spelt(value)
