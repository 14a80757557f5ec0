"""JSON as tools between Snowflake and a file write it, read tolerantly, and written in one canonical form.

The reader accepts what JSON libraries refuse: control characters and single surrogates in strings, strings in single
quotes, ``Infinity``, and up to :data:`DEEPEST` levels of nesting without recursion. A bare ``undefined`` (Snowflake
writes it for a missing element) and ``NaN`` (pandas writes it for null) are null. Numbers keep their digits. Objects
keep the order of their members, and repeated names. JSON that is kept from a row is the same text whichever form the
row came in.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from msgspec import Raw

_decode_text: Final = msgspec.json.Decoder(str).decode
_NOT_DECODED: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
_NULL: Final = b"null"
WRAPPINGS: Final = 2
"""JSON in a string of JSON may be wrapped in this many further strings: some drivers encode twice."""
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
    except _NOT_DECODED:
        return _tolerantly(text)
    if "\\u" in compact or "\\/" in compact:
        return _tolerantly(compact)
    return compact if compact.isascii() else _BEYOND.sub(lambda match: escaped(match[0]), compact)


def unwrapped_json(text: str) -> str:
    """The JSON array or object in strings of JSON around it; another text as it is."""
    inner = text
    for _ in range(WRAPPINGS):
        if not inner.startswith('"'):
            break
        try:
            inner = _decode_text(inner).strip(" ")
        except _NOT_DECODED:
            return text
    return inner if inner.startswith(("{", "[")) else text


def raw_text(value: bytes | Raw) -> str | None:
    """A JSON value for a column that is kept as JSON, in canonical form. None for null; a string gives its content."""
    data = bytes(value)
    if data == _NULL:
        return None
    return raw_json(unwrapped_json(_decode_text(data)) if data.startswith(b'"') else data)


def text_of(value: bytes | Raw) -> str | None:
    """A JSON value for a text column. None for null; a string gives its content, a number its digits, an array or
    object its JSON in canonical form.
    """
    data = bytes(value)
    if data == _NULL:
        return None
    return _decode_text(data) if data.startswith(b'"') else raw_json(data)


def _tolerantly(text: str) -> str:
    try:
        value, _ = parse_first(text)
    except NotJsonError:
        return text
    return canonical_json(value)


DEEPEST: Final = 1000


class Number(NamedTuple):
    """A number with the digits it was written with, or ``Infinity`` and the like."""

    digits: str


class Member(NamedTuple):
    """A member of a JSON object: a name and its value."""

    name: str
    value: Value


class Members(list[Member]):
    """A JSON object."""

    def last(self) -> dict[str, Value]:
        """The values by name; if a name is repeated, its last value."""
        return {member.name: member.value for member in self}


Value: TypeAlias = "bool | str | Number | Elements | Members | None"


class Elements(list[Value]):
    """A JSON array."""


class NotJsonError(ValueError):
    """The text is not JSON, even by the rules of this reader."""


class TooDeepError(NotJsonError):
    """Arrays and objects are nested deeper than :data:`DEEPEST`."""


_SPACE: Final = r"[ \t\r\n]*+"
_STRING: Final = r"""(?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>(?:[^'\\]|\\.)*+)')"""
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_WORD: Final = r"true|false|null|undefined|NaN|[+-]?(?:Infinity|INF)"
_NAME: Final = re.compile(rf"{_SPACE}{_STRING}{_SPACE}:", re.DOTALL)
_VALUE: Final = re.compile(
    rf"{_SPACE}(?:{_STRING}|(?P<opens>[\[{{])|(?P<number>{_NUMBER})(?![\w.+-])|(?P<word>{_WORD})\b)", re.DOTALL
)
_COMMA: Final = re.compile(f"{_SPACE},")
_ENDS: Final = {Elements: re.compile(rf"{_SPACE}\]"), Members: re.compile(rf"{_SPACE}\}}")}
_WORDS: Final[dict[str, Value]] = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None}
_QUOTES: Final = re.compile(r'\\.|"', re.DOTALL)
_BLANK: Final = " \t\r\n"


def parse(text: str) -> Value:
    """The JSON value of a whole text. Raises NotJsonError."""
    value, end = parse_first(text)
    if text[end:].strip(_BLANK):
        raise NotJsonError("there is more text after the value")
    return value


def parse_first(text: str) -> tuple[Value, int]:
    """The JSON value at the start of a text, and the offset of its end. Raises NotJsonError."""
    reader = _Reader(text)
    return reader.value(), reader.at


class _Reader:
    """Reads one value. Open arrays and objects are kept on a list instead of Python's stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[Elements | Members] = []
        self.names: list[str] = []

    def value(self) -> Value:
        while True:
            if self.open and isinstance(self.open[-1], Members):
                self.names.append(_unquoted(self._next(_NAME)))
            value = self._begun()
            if isinstance(value, Elements | Members) and not self._skips(_ENDS[type(value)]):
                self.open.append(value)
                continue
            while self.open:
                container = self.open[-1]
                if isinstance(container, Members):
                    container.append(Member(self.names.pop(), value))
                else:
                    container.append(value)
                if not self._skips(_ENDS[type(container)]):
                    self._next(_COMMA)
                    break
                value = self.open.pop()
            else:
                return value

    def _begun(self) -> Value:
        """The next value; of an array or object only the beginning."""
        match = self._next(_VALUE)
        kind = match.lastgroup or ""
        if kind == "opens":
            if len(self.open) >= DEEPEST:
                raise TooDeepError("too deep")
            return Elements() if match[kind] == "[" else Members()
        if kind in {"double", "single"}:
            return _unquoted(match)
        return _WORDS[match[kind]] if match[kind] in _WORDS else Number(match[kind])

    def _skips(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match is not None

    def _next(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise NotJsonError(f"no JSON at character {self.at}")
        self.at = match.end()
        return match


def _unquoted(match: re.Match[str]) -> str:
    """The value of a string."""
    kind = match.lastgroup or ""
    text = match[kind]
    if "\\" not in text:
        return text
    if kind == "single" or "\\'" in text:
        text = _QUOTES.sub(_in_double_quotes, text)
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError as error:
        raise NotJsonError(str(error)) from None


def _in_double_quotes(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match[0], match[0])


# --- writing ---------------------------------------------------------------------------------------------------------

_SHORT: Final = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED: Final = re.compile('[\\\\"\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')


class _Written(NamedTuple):
    """Text that is written unchanged."""

    text: str


def canonical_json(value: Value) -> str:
    """The value as JSON in canonical form: no white space, only necessary escapes, numbers by their digits,
    ``Infinity`` as a string.
    """
    pieces: list[str] = []
    waiting: list[Value | _Written] = [value]  # instead of Python's stack
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Written):
            pieces.append(item.text)
        elif isinstance(item, Elements | Members):
            opens, closes = "[]" if isinstance(item, Elements) else "{}"
            pieces.append(opens)
            waiting.append(_Written(closes))
            for number, element in reversed(list(enumerate(item))):
                name = f"{quoted(element.name)}:" if isinstance(element, Member) else ""
                waiting.append(element.value if isinstance(element, Member) else element)
                waiting.append(_Written(f",{name}" if number else name))
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


def _scalar(value: bool | str | Number | None) -> str:  # noqa: FBT001 - a value of JSON
    """A value that is neither an array nor an object, as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Number):
        return value.digits if value.digits[-1].isdigit() else quoted(_NOT_FINITE.get(value.digits, value.digits))
    return {None: "null", True: "true", False: "false"}[value]


_NOT_FINITE: Final = {"INF": "Infinity", "+INF": "Infinity", "+Infinity": "Infinity", "-INF": "-Infinity"}


def quoted(text: str) -> str:
    r"""A string as JSON. Escapes have capital digits (``\u001F``). Characters beyond U+FFFF are escaped too, as JSON
    libraries of the JVM do.
    """
    return '"' + (_ESCAPED.sub(_escape, text) if _ESCAPED.search(text) else text) + '"'


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or escaped(match[0])


def escaped(character: str) -> str:
    r"""One character as JSON's escape: ``\u001F``, ``\uD83D\uDE00``."""
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))
