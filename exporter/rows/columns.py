"""The columns of a line of JSON by name, each value still as JSON; names are matched in any letter case."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw

from exporter.rows.raw import text_of
from exporter.rows.row import STRUCTURED

NOT_DECODED: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
"""The exceptions of a decoder for a text that it cannot decode."""

_decode: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_plain: Final = msgspec.json.Decoder(dict[str, str | int | None]).decode


def columns_of(text: str) -> dict[str, Raw]:
    """Column name as written -> its JSON, for a line of strict JSON. Raises one of :data:`NOT_DECODED`."""
    return _decode(text)


def texts_of(text: str) -> dict[str, str | None]:
    """The same with each value as text (:func:`exporter.rows.raw.text_of`); None for null."""
    try:
        return {name: str(value) if isinstance(value, int) else value for name, value in _decode_plain(text).items()}
    except msgspec.ValidationError:
        return {name: text_of(value) for name, value in columns_of(text).items()}


_in_column: Final = re.compile(rf"(?:{'|'.join(STRUCTURED)})(?:\[\]|\.)").match


def is_path(name: str) -> bool:
    """Whether a name is the path of a member of a structured column (:func:`exporter.rows.fits.unknown_members`). A row
    that filters or pseudonyms changed has these members as columns of this name.
    """
    return _in_column(name) is not None


@lru_cache(maxsize=1024)
def lower_name(name: str) -> str:
    """A column name without blanks around it, in lower case: the spelling by which columns are found. A path stays."""
    return name if is_path(name) else name.strip(" ").lower()
