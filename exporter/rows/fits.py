"""Whether a row's structured columns have the documented types. Results are cached, because statements recur."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.rows.columns import NOT_DECODED
from exporter.rows.documents import decode

if TYPE_CHECKING:
    from exporter.rows.documents import Document

_SHORT: Final = 4 * 1024
_LONG: Final = 32 * 1024
"""Bytes of a content. Many short and few long contents are cached, and none beyond, as in
:mod:`exporter.queries.content`.
"""
_MAY_BE_DEEP: Final = 400
"""From this many brackets on, a content may be nested as deeply as Python's stack allows."""
_SPARE: Final = 100


def fits(content: bytes) -> bool:
    """Whether :func:`exporter.rows.documents.decode` can decode the content, here and where it is called later."""
    size = len(content)
    return _fits_short(content) if size <= _SHORT else _fits_long(content) if size <= _LONG else _fits(content)


def _fits(content: bytes) -> bool:
    try:
        document = _decode_below(content, _SPARE if content.count(b"[") + content.count(b"{") > _MAY_BE_DEEP else 0)
    except NOT_DECODED:
        return False
    return document.change is None or not _may_be_damaged(bytes(document.change.properties))


def _may_be_damaged(properties: bytes) -> bool:
    """Whether it contains escaped surrogates, single or in pairs. A decoder that keeps raw JSON does not check them."""
    return b"\\ud" in properties.lower()


_fits_short: Final = lru_cache(maxsize=8_000)(_fits)
_fits_long: Final = lru_cache(maxsize=300)(_fits)


def _decode_below(content: bytes, frames: int) -> Document:
    """Decode with ``frames`` stack frames in use, so that a later call from a deeper stack succeeds too."""
    return _decode_below(content, frames - 1) if frames else decode(content)
