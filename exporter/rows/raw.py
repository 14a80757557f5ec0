"""Raw JSON in canonical form: JSON that is kept from a row is the same text whichever form the row came in."""

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
"""Characters that UTF-16 encodes as a pair of surrogates."""


def raw_json(text: str | bytes) -> str:
    """A text that is a JSON array or object, in canonical form: no white space, only necessary escapes (and a pair for
    a character beyond U+FFFF), numbers by their digits. Any other text is returned unchanged, also one that only begins
    like JSON.
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
    """A JSON value for a column that is kept as JSON, in canonical form. None for null; a string gives its content."""
    found = bytes(value)
    if found == _NULL:
        return None
    return raw_json(_decode_text(found) if found.startswith(b'"') else found)


def text_of(value: bytes | Raw) -> str | None:
    """A JSON value for a text column. None for null; a string gives its content, a number its digits, an array or
    object its JSON in canonical form.
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
