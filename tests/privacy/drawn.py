"""User names drawn into every text of the documents, in drawn spellings; and a search for them in whatever was written.

Where names go is derived from the documents' fields (:mod:`tests.model.every_field`) and the list of what Snowflake
writes itself (docs/privacy.md). JSON that users write has the documented members' names as its keys, because these
are the ones that a program may take for Snowflake's own.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from exporter.input import row as documents
from exporter.input.row import STRUCTURED, Row
from tests import aggregates
from tests.model import every_field
from tests.model.ddl_forms import FORMS, rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

Json = dict[str, Any]
USERS: Final = (
    *("KANARIE", "kanarie", "canary.bird@example.com", "Canário Amarelo", "O'Canary", 'can"ary\\six', "金糸雀鳥"),
    *("CANARY_BOT$1", "9071234567891"),
)
"""Users who run queries, as Snowflake stores their names. No other text of a row contains one of them by chance."""
OF_SNOWFLAKE: Final = frozenset(
    {
        *("query_id", "parent_query_id", "root_query_id", "event_source"),
        *("organization_name", "account_name", "account_locator", "accountName"),
        *("objectDomain", "stageKind", "policyKind", "operationType", "joinType", "type", "agentType"),
        *("grant", "revoke"),  # only the privileges are drawn
        "query_parameterized_hash",
    }
)
"""Fields whose values Snowflake writes (docs/privacy.md)."""
KEYS: Final = sorted(
    {
        *(name for one in vars(documents).values() for name in getattr(one, "__struct_encode_fields__", ())),
        *(*STRUCTURED, *Row.__struct_fields__, *every_field.QUERY_HISTORY, *OF_SNOWFLAKE),
        *("user", "username", "value", "subOperationType", "tagValue", "objectName", "columns", "tags", "comment"),
    }
)
"""Names of documented members and columns, as keys of JSON that users write."""


# --- spellings --------------------------------------------------------------------------------------------------------


def _escaped(text: str, rng: Random) -> str:
    """Some or all characters as JSON spells them with their numbers."""
    share = rng.choice((0.3, 1))
    units = [text.encode("utf-16-be")[at : at + 2] for at in range(0, 2 * len(text), 2)]
    pairs = zip(text, units, strict=True)
    return "".join(f"\\u{unit.hex()}" if rng.random() < share or one in '"\\' else one for one, unit in pairs)


def _percent(text: str, rng: Random) -> str:
    """As in a URL: what needs it is encoded, or every byte, in either letter case."""
    if rng.random() < 0.5:
        return quote(text, safe=rng.choice(("", "@")))
    every = "".join(f"%{byte:02X}" for byte in text.encode())
    return rng.choice((every, every.lower()))


def _mixed(text: str, rng: Random) -> str:
    return "".join(rng.choice((one.lower(), one.upper())) for one in text)


CASES: Final[dict[str, Callable[[str, Random], str]]] = {
    "as stored": lambda text, _: text,
    "upper case": lambda text, _: text.upper(),
    "lower case": lambda text, _: text.lower(),
    "title": lambda text, _: text.title(),
    "mixed case": _mixed,
}
QUOTES: Final[dict[str, Callable[[str, Random], str]]] = {
    "bare": lambda text, _: text,
    "with a mail domain": lambda text, _: f"{text}@example.org",
    "identifier": lambda text, _: '"' + text.replace('"', '""') + '"',
    "literal": lambda text, _: "'" + text.replace("'", "''") + "'",
    "in backticks": lambda text, _: f"`{text}`",
}
CODES: Final[dict[str, Callable[[str, Random], str]]] = {
    "plain": lambda text, _: text,
    "URL": _percent,
    "JSON": lambda text, _: json.dumps(text)[1:-1],
    "JSON numbers": _escaped,
    "JSON in JSON": lambda text, rng: json.dumps(_escaped(text, rng))[1:-1],
}
BEFORE: Final = ("", "by ", "/home/", "DBT_", "USER$", "(", "x:", "\n", "%2F", "%20", "\\n", "\\t", "\\\\n", "s3://b/")
AFTER: Final = ("", " ", "_TMP", ".T", "/a.csv", ")", "\n", "%2Fa", "\\n", "$1", ", ", ";")
AROUND: Final[dict[str, Callable[[str, Random], str]]] = {
    "text": lambda text, _: text,
    "JSON": lambda text, rng: json.dumps({rng.choice(KEYS): text}, ensure_ascii=rng.random() < 0.5),
    "JSON in a string": lambda text, rng: json.dumps({rng.choice(KEYS): json.dumps([{rng.choice(KEYS): text}])}),
    "SQL": lambda text, rng: f"select 1 /* {json.dumps({rng.choice(KEYS): text})} */",
}


class Drawn(every_field.Said):
    """Words that contain a user's name; numbers and Snowflake's words have none. ``spelled``: how often each spelling
    was drawn. ``places``: the fields that have names.
    """

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self.rng = rng
        self.spelled: dict[tuple[str, ...], int] = {}
        self.places: dict[str, int] = {}

    def word(self, field: str) -> str:
        word = super().word(field)
        if word.isdecimal() or field.rpartition(".")[2].split()[-1] in OF_SNOWFLAKE:
            return word
        if field == "user_name":
            return self.rng.choice(USERS)
        return f"{word} {self.text(field)}"

    def text(self, field: str) -> str:
        """A text with a name in a drawn spelling."""
        rng = self.rng
        ways = [rng.choice(list(one)) for one in (CASES, QUOTES, CODES, AROUND)]
        text = rng.choice(USERS)
        for made, way in zip((CASES, QUOTES, CODES), ways, strict=False):
            text = made[way](text, rng)
        self.spelled[tuple(ways)] = self.spelled.get(tuple(ways), 0) + 1
        self.places[field] = self.places.get(field, 0) + 1
        return AROUND[ways[3]](f"{rng.choice(BEFORE)}{text}{rng.choice(AFTER)}", rng)

    def json(self, field: str, depth: int = 2) -> Any:
        """JSON that a user wrote, with documented members' names as keys."""
        rng = self.rng
        how = rng.randrange(6) if depth else 0
        if how == 1:
            return [self.json(field, depth - 1) for _ in range(2)]
        if how == 2:
            return json.dumps(self.json(field, depth - 1))
        if how == 3:
            return {self.text(f"{field} key"): self.json(field, depth - 1)}
        if how == 4:
            return int(USERS[-1])
        if how == 5:
            return {rng.choice(KEYS): self.json(field, depth - 1) for _ in range(3)}
        return self.text(field)


# --- rows -------------------------------------------------------------------------------------------------------------


def rows(said: Drawn) -> Iterator[Json]:
    """Rows with names in every text of every column, those of DDL in all forms; and each user's own row."""
    for number, user in enumerate(USERS):
        yield {"query_id": f"own-{number}", "query_start_time": every_field.START, "user_name": user}
    for number in range(12):
        sql = {_SQL[number]: f"select {said.text('SQL text')}"} if number < len(_SQL) else {}
        yield {**_with_json(every_field.full_row(said), said), **sql, "query_id": f"full-{number}"}
    for form in FORMS:
        for row in rows_in(form, list(every_field.changes(said))):
            query = {"query_id": f"{form}-{row['query_id']}", "user_name": said.word("user_name")}
            yield _with_json({**row, **query}, said)


_SQL: Final = ("query_text", "BIND_VALUES", "Query Text Hash")
"""Columns of which only the name is kept."""


def aggregate_rows(said: Drawn) -> Iterator[Json]:
    """Rows of AGGREGATE_ACCESS_HISTORY with names in every text."""
    of_view = [name for name in aggregates.COLUMNS if name != "user_name"]
    for number in range(6):
        row = _with_json(every_field.full_row(said), said)
        more = {name: value for name, value in row.items() if name in of_view or name not in _KNOWN}
        yield aggregates.calls("2026-01-02T03:04", said.word("user_name"), f"{number:032x}", number + 1, **more)


def history(said: Drawn, ids: list[str]) -> Iterator[Json]:
    """Their rows of QUERY_HISTORY."""
    for one in ids:
        row = every_field.history_row(said, one)
        yield {**row, "query_tag": json.dumps(said.json("query_tag")), "user_name": said.word("user_name")}


_KNOWN: Final = frozenset({*Row.__struct_fields__, *STRUCTURED, "query_start_time"})


def _with_json(row: Json, said: Drawn) -> Json:
    """The row with JSON of users wherever it may be: columns, comments, unknown members and properties."""
    made = {**row, "column_of_next_year": said.json("unknown column"), said.text("unknown column's name"): 1}
    made["additional_properties"] = {"irc_event_type": "LoadTable", "of": said.json("additional_properties")}
    for name in STRUCTURED[:6]:
        for one in made.get(name) or ():
            one["memberOfNextYear"] = {"type": said.json("unknown member"), "objectDomain": said.json("unknown member")}
    change = made.get("object_modified_by_ddl")
    if change is not None and isinstance(change["properties"], dict):
        more = {
            "comment": {"value": json.dumps(said.json("comment"))},
            "owner": {"value": said.text("unknown property")},
        }
        bare = {"manifest": json.dumps(said.json("manifest")), "note": said.text("unknown property")}
        change["properties"] = {**change["properties"], **more, **bare}
    return made


# --- search -----------------------------------------------------------------------------------------------------------

_marks: Final = re.compile(r"[\\\"'`]")
_escape: Final = re.compile(r"\\+[ux]([0-9a-fA-F]{4}|[0-9a-fA-F]{2})")
_OF_LETTER: Final = re.compile(r"\\+([nrtbf])")
_percents: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")


def plain(text: str) -> str:
    """The text without escapes, quotes and letter case."""
    for _ in range(4):
        before = text
        text = _escape.sub(lambda one: _character(one[1]), text)
        text = _percents.sub(lambda one: _of_bytes(one[0]), text)
        if text == before:
            break
    text = unicodedata.normalize("NFC", _marks.sub("", _OF_LETTER.sub(" ", text)))
    return text.lower()


@cache
def _character(number: str) -> str:
    return chr(int(number, 16))


@cache
def _of_bytes(run: str) -> str:
    """What a run of encoded bytes of a URL says, as urllib's ``unquote`` reads it: IRIs repeat a few of them."""
    return bytes.fromhex(run.replace("%", "")).decode("utf-8", "replace")


NAMES: Final = {plain(name) for name in USERS}
_any_name: Final = re.compile("|".join(map(re.escape, sorted(NAMES, key=len, reverse=True)))).finditer
LETTERS: Final = frozenset(string.ascii_letters + string.digits)


def found(text: str) -> list[str]:
    """Every name in a text, in whatever spelling, with what is around it."""
    bare = plain(text)
    return [f"…{bare[max(0, one.start() - 80) : one.end() + 20]}" for one in _any_name(bare)]
