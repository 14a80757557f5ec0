"""The properties of a DDL change, by their shape.

Properties are atomic (``{"value": …}``) or compound (a name -> ``{"subOperationType": …}``), and those of columns hold
compounds again; they are read by that shape and not by a list of names, for new ones keep coming. Every value is a
text: a JSON string is what it says, anything else is its JSON.

Sources: view, "object_modified_by_ddl" and its usage notes.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

Members = dict[str, str | None]

_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_string: Final = msgspec.json.Decoder(str).decode


def as_text(raw: Raw) -> str | None:
    """A JSON value as text; None for null."""
    written = bytes(raw)
    if written.startswith(b'"'):
        return _string(written)
    return None if written == b"null" else written.decode()


def members(text: str | None) -> Members | None:
    """The members of a JSON object, in its order; None where the text is none."""
    if text is None or not text.startswith("{"):
        return None
    try:
        return {name: as_text(raw) for name, raw in _members(text).items()}
    except (msgspec.DecodeError, RecursionError):
        return None


def atomic(given: str | None) -> str | None:
    """The value of an atomic property: of ``{"value": x}``, x; of a bare value, itself; of anything else, None."""
    if given is None or given.startswith("["):
        return None
    return (members(given) or {}).get("value") if given.startswith("{") else given


def is_compound(inside: Members) -> bool:
    """Whether the object of a property, by its members, is not ``{"value": …}``."""
    return bool(inside) and "value" not in inside
