"""Read the properties of a DDL change by their structure.

Properties are atomic (``{"value": …}``) or compound (name -> ``{"subOperationType": …}``); those of columns contain
compound ones again. They are read by structure and not by a list of names, because Snowflake keeps adding new ones.
Every value is a text: the content of a JSON string, the JSON of anything else.

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
    """The members of a JSON object in their order; None if the text is not a JSON object."""
    if text is None or not text.startswith("{"):
        return None
    try:
        return {name: as_text(raw) for name, raw in _members(text).items()}
    except (msgspec.DecodeError, RecursionError):
        return None


def atomic(given: str | None) -> str | None:
    """The value of an atomic property: x of ``{"value": x}``, or a plain value itself; None for anything else."""
    if given is None or given.startswith("["):
        return None
    return (members(given) or {}).get("value") if given.startswith("{") else given


def is_compound(inside: Members) -> bool:
    """Whether a property with these members is compound: not empty and without ``value``."""
    return bool(inside) and "value" not in inside
