"""How much of a row is taken: what is larger is quarantined with a reason, so that memory and time have a bound.

The view cuts its own records, and Snowflake's identifiers have 255 characters: no row that it gave comes near to these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from exporter.rows.documents import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.rows.row import Row

LONGEST_RECORD: Final = 32 << 20
"""Characters of a record at most. What comes of a row takes some dozen times its size in memory."""
LONGEST_DOCUMENT: Final = 64 << 20
"""Characters of a JSON document that is not strict JSON: to read it takes 15 times as much memory."""
LONG: Final = 32 << 10
"""Characters of a record from which on the other limits are looked after."""
OBJECTS: Final = 500_000
"""JSON objects in a record at most: things, columns, sources and others take 1 to 10 KB each until they are written."""
VALUES: Final = 2_000_000
"""Values in a record at most."""
LONGEST_NAME: Final = 64 << 10
"""Characters of a name, an id or a location at most."""
SHOWN: Final = 64 << 10
"""Characters that the quarantine keeps of a record that is too long."""


def too_much(text: str) -> str | None:
    """Why a record is not read at all; None where it is."""
    if len(text) > LONGEST_RECORD:
        return (
            f"the record has more than {LONGEST_RECORD:,} characters; no row of the view is so long "
            f"(only its first {SHOWN:,} characters are kept here)"
        )
    if text.count("{") > OBJECTS:
        return f"the record holds more than {OBJECTS:,} JSON objects; no row of the view is so large"
    if text.count(",") + text.count("[") > VALUES:
        return f"the record holds more than {VALUES:,} values; no row of the view is so large"
    return None


def shortened(text: str) -> str:
    """What is kept of a record that is quarantined: all of it, unless it is too long."""
    return text if len(text) <= LONGEST_RECORD else text[:SHOWN]


def long_names(row: Row) -> list[str]:
    """What in a row is longer than any name; the JSON that is kept as it came may be so."""
    texts = {name: getattr(row, name) for name in row.__struct_fields__ if name not in _KEPT}
    found = [(name, len(text)) for name, text in texts.items() if isinstance(text, str) and len(text) > LONGEST_NAME]
    document = decode(row.content)
    found += [(place, len(text)) for place, text in _texts("", document) if len(text) > LONGEST_NAME]
    longest = {name: max(size for one, size in found if one == name) for name, _ in found}
    return [f"{name} has {size:,} characters, and no name has over {LONGEST_NAME:,}" for name, size in longest.items()]


_KEPT: Final = frozenset({"content", "additional_properties", "invoker_identity"})


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """All texts of a document, each with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(name, one)
    elif isinstance(value, Struct):
        for field, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            yield from _texts(encoded, getattr(value, field))
