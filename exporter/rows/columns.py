"""The columns of a line by name, whatever the case of their names, each still as the JSON it holds."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw

from exporter.rows.raw import text_of

NOT_DECODED: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
"""What a decoder raises for a text that it does not take."""

_decode: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_plain: Final = msgspec.json.Decoder(dict[str, str | int | None]).decode


def columns_of(text: str) -> dict[str, Raw]:
    """The columns of a line of strict JSON, by the name that it gives them; raises one of :data:`NOT_DECODED`."""
    return _decode(text)


def texts_of(text: str) -> dict[str, str | None]:
    """The same, each as :func:`exporter.rows.raw.text_of` has it."""
    try:
        return {name: str(value) if isinstance(value, int) else value for name, value in _decode_plain(text).items()}
    except msgspec.ValidationError:
        return {name: text_of(value) for name, value in columns_of(text).items()}


@lru_cache(maxsize=1024)
def lower_name(name: str) -> str:
    """The name in the one spelling in which columns are known."""
    return name.strip(" ").lower()
