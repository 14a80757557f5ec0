"""Whether a row's structured columns are as the documents describe them. Statements recur, and so do their contents."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.rows.columns import NOT_DECODED
from exporter.rows.documents import decode

if TYPE_CHECKING:
    from exporter.rows.documents import Document

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
        document = _decode_below(content, _SPARE if content.count(b"[") + content.count(b"{") > _MAY_BE_DEEP else 0)
    except NOT_DECODED:
        return False
    return document.change is None or not _may_be_damaged(bytes(document.change.properties))


def _may_be_damaged(properties: bytes) -> bool:
    """Whether there are halves of surrogate pairs in it, alone or together: a decoder that skips it does not look."""
    return b"\\ud" in properties.lower()


_fits_again: Final = lru_cache(maxsize=1024)(_fits)


def _decode_below(content: bytes, frames: int) -> Document:
    """Decode with so many frames of the stack in use that nobody who decodes the content later has less left."""
    return _decode_below(content, frames - 1) if frames else decode(content)
