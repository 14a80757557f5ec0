"""Whether a row's structured columns have the documented types, and which members of their objects no document has.

Results are cached, because statements recur.
"""

from __future__ import annotations

from functools import lru_cache
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, defstruct
from msgspec.structs import fields

from exporter.rows import lenient
from exporter.rows.columns import NOT_DECODED
from exporter.rows.documents import Document, decode
from exporter.rows.fitting import COLUMNS, ListKind, ObjectKind
from exporter.rows.row import STRUCTURED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.rows.fitting import Kind

_SHORT: Final = 4 * 1024
_LONG: Final = 32 * 1024
"""Bytes of a content. Many short and few long contents are cached, and none beyond, as in
:mod:`exporter.queries.content`.
"""
_MAY_BE_DEEP: Final = 400
"""From this many brackets on, a content may be nested as deeply as Python's stack allows."""
_SPARE: Final = 100


def fits(content: bytes) -> bool:
    """Whether :func:`exporter.rows.documents.decode` can decode the content, here and where it is called later, and
    the properties of its change have no damaged text.
    """
    return _look(content)[0]


def unknown_members(content: bytes) -> Mapping[str, str]:
    """The members of objects that no document has: path -> JSON array of their values, without empty ones.

    A path has no names that users gave: ``direct_objects_accessed[].columns[].newKey``. Members of the properties of a
    change are not among them (:mod:`exporter.rows.properties`).
    """
    return _look(content)[1]


def _look(content: bytes) -> tuple[bool, Mapping[str, str]]:
    size = len(content)
    return _of_short(content) if size <= _SHORT else _of_long(content) if size <= _LONG else _of(content)


def _of(content: bytes) -> tuple[bool, Mapping[str, str]]:
    try:
        document = _decode_below(content, _SPARE if content.count(b"[") + content.count(b"{") > _MAY_BE_DEEP else 0)
        members = _NONE if _is_known(content) else _collected(content)
    except NOT_DECODED:
        return False, _NONE
    return document.change is None or not _may_be_damaged(bytes(document.change.properties)), members


def _may_be_damaged(properties: bytes) -> bool:
    """Whether it contains escaped surrogates, single or in pairs. A decoder that keeps raw JSON does not check them."""
    return b"\\ud" in properties.lower()


_of_short: Final = lru_cache(maxsize=8_000)(_of)
_of_long: Final = lru_cache(maxsize=300)(_of)


def _decode_below(content: bytes, frames: int) -> Document:
    """Decode with ``frames`` stack frames in use, so that a later call from a deeper stack succeeds too."""
    return _decode_below(content, frames - 1) if frames else decode(content)


# --- members that no document has -------------------------------------------------------------------------------------

_NONE: Final[Mapping[str, str]] = {}
_EMPTY: Final = frozenset({"null", '""', "[]", "{}"})


def _closed(kind: Any) -> Any:
    """A type of documents whose objects refuse members that they do not have."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        members = [(field.name, _closed(field.type), None) for field in fields(kind)]
        is_array = kind.__struct_config__.array_like
        return defstruct(kind.__name__, members, rename="camel", forbid_unknown_fields=True, array_like=is_array)
    each = tuple(map(_closed, get_args(kind)))
    if get_origin(kind) is UnionType:
        return Union[each]  # noqa: UP007 # of a tuple
    return GenericAlias(list, each) if get_origin(kind) is list else kind


_decode_closed: Final = msgspec.json.Decoder(_closed(Document)).decode
_decode_columns: Final = msgspec.json.Decoder(list[Raw]).decode
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def _is_known(content: bytes) -> bool:
    try:
        _decode_closed(content)
    except msgspec.ValidationError:
        return False
    return True


def _collected(content: bytes) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for name, kind, value in zip(STRUCTURED, COLUMNS, _decode_columns(content), strict=True):
        for path, one in _unknown(name, kind, bytes(value)):
            said = lenient.spelt(lenient.parse(one.decode()))
            if said not in _EMPTY:
                found.setdefault(path, set()).add(said)
    return {path: f"[{','.join(sorted(found[path]))}]" for path in sorted(found)}


def _unknown(path: str, kind: Kind, value: bytes) -> Iterator[tuple[str, bytes]]:
    """Path and JSON of the unknown members in a value of a documented kind."""
    if isinstance(kind, ListKind) and value.startswith(b"["):
        for each in _decode_columns(value):
            yield from _unknown(f"{path}[]", kind.of, bytes(each))
    elif isinstance(kind, ObjectKind) and value.startswith(b"{"):
        for name, each in _decode_members(value).items():
            here = f"{path}.{name}"
            if name in kind.fields:
                yield from _unknown(here, kind.fields[name], bytes(each))
            else:
                yield here, bytes(each)
