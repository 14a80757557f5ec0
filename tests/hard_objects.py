"""The objects of a small, difficult account: names, ids and spellings that have caused errors in readers of
ACCESS_HISTORY.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

Json = dict[str, Any]

NAME_PARTS: Final = (
    "ORDERS",
    "orders",
    '"My Table"',
    '"weird""name"',
    '"a.b"',
    '"line\nbreak"',
    '"snow ☃ 🦖 \u2028"',
    '"100%"',
    '"%2F/../x?y#z"',
    '"."',
    '".."',
    '"tab\tand \\ back\\nslash"',
    '"<&>\'`{}|^[]"',
    '"名前"',
    '"\u0001"',
    '"nul\u0000"',
    "$SYS_VIEW_1105",
)
COLUMN_NAMES: Final = (
    "ID",
    "EMAIL",
    "email",
    "TRUNCATED_AT",
    "",
    "$1",
    ".",
    "..",
    "a/b",
    "e mail",
    'q"uote',
    "it's",
    "x\ny",
    "100%",
    "über 🦖",
    "\u2028",
    "back\\slash",
)
USERS: Final = ("JSMITH", "O'Brien", "ada@example.com", "名前 🦖", 'A "B" C', "x/../y%", "line\nbreak", "jsmith")

DOMAINS: Final[dict[str, tuple[str, ...]]] = {
    "table": ("Table", "TABLE", "table"),
    "external table": ("External table", "EXTERNAL TABLE", "EXTERNAL_TABLE"),
    "dynamic table": ("Dynamic table", "DYNAMIC TABLE"),
    "iceberg table": ("Iceberg table", "ICEBERG TABLE"),
    "view": ("View", "VIEW"),
    "materialized view": ("Materialized view", "MATERIALIZED VIEW", "MATERIALIZED_VIEW"),
    "stream": ("Stream", "STREAM"),
    "stage": ("Stage", "STAGE"),
    "function": ("Function", "FUNCTION"),
    "procedure": ("Procedure", "PROCEDURE"),
    "masking policy": ("MASKING_POLICY", "MASKING POLICY", "Masking policy"),
    "row access policy": ("ROW_ACCESS_POLICY", "ROW ACCESS POLICY"),
    "tag": ("TAG", "Tag"),
    "sequence": ("Sequence", "SEQUENCE"),
    "share": ("Share", "SHARE"),
    "listing": ("Listing", "LISTING"),
    "schema": ("Schema", "SCHEMA"),
}
READABLE: Final = ("table", "external table", "dynamic table", "iceberg table", "view", "materialized view", "stream")
LONG: Final = (300, 10_000)


@dataclass
class Thing:
    """One object: its kind, its present name, the way that its id is written, its columns."""

    kind: str
    name: str
    number: int
    id_form: str
    columns: list[str] = field(default_factory=list)
    signature: str | None = None

    def id_fields(self, rng: Random, key: str = "objectId") -> Json:
        """The id as a row may show it; now and then a row shows none."""
        forms: dict[str, Any] = {"number": self.number, "text": str(self.number), "zero": 0, "sentinel": -1}
        form = rng.choice(("number", "text", "number")) if self.id_form == "any" else self.id_form
        return {key: forms[form]} if form in forms and rng.random() > 0.08 else {}

    def shown(self, rng: Random) -> Json:
        """The object as an element of the view's arrays, without its columns."""
        functional = {"argumentSignature": self.signature, "dataType": "NUMBER(38,0)"} if self.signature else {}
        stage = {"stageKind": rng.choice(("Internal Named", "External Named"))} if self.kind == "stage" else {}
        identity = {"objectDomain": rng.choice(DOMAINS[self.kind]), "objectName": self.name}
        return {**identity, **self.id_fields(rng), **functional, **stage}

    def columns_shown(self, rng: Random) -> list[Json]:
        chosen = rng.sample(self.columns, rng.randint(1, len(self.columns)))
        return [{"columnName": name, **self.column_id(rng, name)} for name in chosen]

    def column_id(self, rng: Random, name: str) -> Json:
        number = self.number * 100 + self.columns.index(name)
        return rng.choice(({"columnId": number}, {"columnId": str(number)}, {"columnId": 0}, {}))

    def read(self, rng: Random) -> Json:
        """The object as read, with columns where it has any."""
        return {**self.shown(rng), **({"columns": self.columns_shown(rng)} if self.columns else {})}


def hard_name(rng: Random, parts: int = 3) -> str:
    """A qualified name of hard parts; one in forty is very long."""
    chosen = [rng.choice(NAME_PARTS) for _ in range(parts)]
    if rng.random() < 0.025:
        chosen[-1] = "L" * rng.choice(LONG)
    return ".".join(chosen)


@dataclass
class World:
    """A handful of objects of every kind, few enough to meet again and again."""

    things: dict[str, list[Thing]]

    @classmethod
    def build(cls, rng: Random) -> World:
        numbers = iter(rng.sample(range(1, 400), 60))
        return cls({kind: [_thing(rng, kind, next(numbers)) for _ in range(_count(kind))] for kind in DOMAINS})

    def one(self, rng: Random, *kinds: str) -> Thing:
        return rng.choice([thing for kind in kinds or READABLE for thing in self.things[kind]])


def _count(kind: str) -> int:
    return {"table": 4, "view": 2, "function": 2, "stage": 2, "masking policy": 2}.get(kind, 1)


def _thing(rng: Random, kind: str, number: int) -> Thing:
    number = rng.choice((number, number, 32998411400000 + number))
    plain = f"DB.SCH.{kind.replace(' ', '_').upper()}_{number}"
    name = rng.choice((plain, hard_name(rng)))
    id_form = rng.choice(("any",) * 7 + ("zero", "sentinel", "absent"))
    columns = rng.sample(COLUMN_NAMES, rng.randint(2, 5)) if kind in READABLE else []
    signature = rng.choice(("()", "(N NUMBER)", "(A ARRAY, S STRING)")) if kind in ("function", "procedure") else None
    return Thing(kind, name, number, "absent" if kind == "procedure" else id_form, columns, signature)
