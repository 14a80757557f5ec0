"""Random lines with a row in some spelling: valid or not, with odd values in odd places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from exporter.input.row import STRUCTURED

if TYPE_CHECKING:
    from random import Random

_LISTS: Final = ("columns", "joinObjects", "policies", "directSources", "baseSources", "directSourceColumns")
_FIELDS: Final = (
    *("objectDomain", "objectId", "objectName", "argumentSignature", "dataType", "location", "locations", "stageKind"),
    *("columnId", "columnName", "policyName", "policyKind", "joinType", "node", "agentName", "operationType"),
    *("properties", "fieldOfNextYear", *_LISTS),
)
_TEXTS: Final = (
    *("A", "D.S.T", "TRUNCATED", "undefined", "null", "\\N", "", 'q"u"o', "a\nb", "é", "🦖", "x\ty", "{", "[", "1.50"),
    *(" s ", "it's", "\x00", "\x1f/", "\u2028"),
)
_PROPERTIES: Final = ({"a": {"value": "🦖"}}, {"v": 1.5}, "TRUNCATED", None, [1, 2.0], '{"a": 1.10}', 7)
_KEPT: Final = ("", "x", None, {"irc_event_type": "L", "x": 1.5}, '{"a": "b\\/", "c" : [ ]}', [[{"a": "\n"}]], "null")


def line(rng: Random) -> str:
    """A row in one of the spellings that exports have, at times cut off, or with something behind it."""
    row = _row(rng)
    form = rng.choice(
        ("plain", "plain", "upper", "text", "double", "undefined", "raw", "surrogate", "cut", "behind", "list")
    )
    if form in {"text", "double"}:
        row = {name: _wrapped(rng, value, form) for name, value in row.items()}
    if form == "list":
        row = {name: _in_list(rng, value) if name in STRUCTURED else value for name, value in row.items()}
    if form == "upper" or rng.random() < 0.1:
        row = {rng.choice((name.upper(), f" {name.title()} ")): value for name, value in row.items()}
    text = json.dumps(row, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1)))
    if form == "undefined":
        return text.replace("null", "undefined")
    if form == "raw":
        return text.replace("\\n", "\n").replace("\\t", "\t")
    if form == "surrogate":
        return text.replace("D.S.T", "\\ud83e")
    if form == "cut":
        return text[: rng.randrange(1, len(text))]
    return text + rng.choice((",", "]", " ", "}", " x", "{}", ";")) if form == "behind" else text


def _row(rng: Random) -> dict[str, Any]:
    odd = rng.choice((0.0, 0.0, 0.03))
    start = rng.choice(("2026-03-01 08:00:00", "2026-03-01T08:00:00.5Z", 1772352000, "yesterday", 1772352000.5))
    row = {"query_id": rng.choice(("q", "q", 7, *_TEXTS)), "query_start_time": start}
    row["user_name"] = rng.choice(("u", "u", "u", *_TEXTS))
    row |= {name: rng.choice((*_TEXTS, None, 7, 1.5, True)) for name in ("parent_query_id", "account_name")}
    row["additional_properties"] = rng.choice(_KEPT)
    for name in STRUCTURED[:6]:
        row[name] = rng.choice((None, [], [_thing(rng, odd, 0), None], [_thing(rng, odd, 0)]))
    row["object_modified_by_ddl"] = rng.choice((None, _thing(rng, odd, 0)))
    row["agents_info"] = rng.choice((None, [_thing(rng, odd, 0)]))
    if rng.random() < odd:
        row[rng.choice(STRUCTURED)] = rng.choice((*_TEXTS, 7, {"a": 1}, ["x"], [[]], {}))
    row["column_of_next_year"] = {"a": [1, None]}
    return dict(rng.sample(list(row.items()), len(row)))


def _thing(rng: Random, odd: float, depth: int) -> dict[str, Any]:
    return {name: _value(rng, name, odd, depth) for name in rng.sample(_FIELDS, rng.randrange(6))}


def _value(rng: Random, name: str, odd: float, depth: int) -> Any:
    if rng.random() < odd:
        return rng.choice((*_TEXTS, {"a": 1.5}, [1], [], {}, 7))
    if name == "properties":
        return rng.choice(_PROPERTIES)
    if name == "locations":
        return [rng.choice(_TEXTS) for _ in range(rng.randrange(3))]
    if name in _LISTS or name == "node":
        inner = None if depth > 2 else _thing(rng, odd, depth + 1)
        return inner if name == "node" else rng.choice(([inner], [], None))
    return rng.choice((*_TEXTS, 1, 0, -1, 32998411400350, 10**25, 1.5, 66564.0, True, None))


def _in_list(rng: Random, value: Any) -> Any:
    """A list with JSON texts of its elements."""
    if not isinstance(value, list):
        return value
    return [_wrapped(rng, one, rng.choice(("list", "list", "double"))) for one in value]


def _wrapped(rng: Random, value: Any, form: str) -> Any:
    if not isinstance(value, list | dict):
        return "\\N" if value is None and form == "text" else value
    once = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 2)))
    return json.dumps(once) if form == "double" else once
