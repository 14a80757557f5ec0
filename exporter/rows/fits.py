"""Whether a row's structured columns are as the documents describe them. Statements recur, and so do their contents."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from exporter.rows.columns import NOT_DECODED
from exporter.rows.documents import decode

_REMEMBERED: Final = 32 * 1024
"""Bytes of a content at most that is remembered."""
_MAY_BE_DEEP: Final = 400
"""Brackets of a content that may be nested as deep as Python's stack is."""
_SPARE: Final = 100


def fits(content: bytes) -> bool:
    """Whether :func:`exporter.rows.documents.decode` takes the content, here and wherever it is called next."""
    return _fits_again(content) if len(content) <= _REMEMBERED else _fits(content)


def _fits(content: bytes) -> bool:
    try:
        _decode_below(content, _SPARE if content.count(b"[") + content.count(b"{") > _MAY_BE_DEEP else 0)
    except NOT_DECODED:
        return False
    return True


_fits_again: Final = lru_cache(maxsize=1024)(_fits)


def _decode_below(content: bytes, frames: int) -> None:
    """Decode with so many frames of the stack in use that nobody who decodes the content later has less left."""
    if frames:
        _decode_below(content, frames - 1)
    else:
        decode(content)
