"""The answer of ``tag-reach`` as SQL for a person to read and run: a statement for each column that lacks the tag.

Names and values are data of rows, and may hold anything. So a name is taken apart by Snowflake's rules and written
again, in quotes unless it needs none; a value is a string literal, in which quotes and backslashes are doubled; and a
comment is one line, without any character that ends a line or hides what follows. What cannot be written so, or cannot
have a tag, is a comment that says why.

Several tagged columns can lead to one column. If their values differ, a person has to choose: these are comments.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from exporter.model.identifiers import parts_of, quoted, unquoted
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from exporter.ask.answers import Answer

QUESTION: Final = "tag-reach"
_KINDS: Final = {
    "ExternalTable": "EXTERNAL TABLE",
    "IcebergTable": "ICEBERG TABLE",
    "DynamicTable": "DYNAMIC TABLE",
    "MaterializedView": "MATERIALIZED VIEW",
    "View": "VIEW",
    "HybridTable": "TABLE",
    "EventTable": "TABLE",
    "Table": "TABLE",
}
"""The class of an object in the graph -> what ALTER calls it; the exact kind before the general one."""
_RESERVED: Final = frozenset(
    """
    ACCOUNT ALL ALTER AND ANY AS BETWEEN BY CASE CAST CHECK COLUMN CONNECT CONNECTION CONSTRAINT CREATE CROSS CURRENT
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DELETE DISTINCT DROP ELSE EXISTS FALSE FOLLOWING
    FOR FROM FULL GRANT GROUP GSCLUSTER HAVING ILIKE IN INCREMENT INNER INSERT INTERSECT INTO IS ISSUE JOIN LATERAL LEFT
    LIKE LOCALTIME LOCALTIMESTAMP MINUS NATURAL NOT NULL OF ON OR ORDER ORGANIZATION QUALIFY REGEXP REVOKE RIGHT RLIKE
    ROW ROWS SAMPLE SCHEMA SELECT SET SOME START TABLE TABLESAMPLE THEN TO TRIGGER TRUE TRY_CAST UNION UNIQUE UPDATE
    USING VALUES VIEW WHEN WHENEVER WHERE WITH
    """.split()  # noqa: SIM905 - a list of words
)
"""Words that Snowflake reserves, at least in some places (its documentation, "Reserved & limited keywords")."""
_is_plain: Final = re.compile(r"[A-Z_][A-Z0-9_$]*").fullmatch
_PARTS: Final = 3
_HEAD: Final = (
    "-- Read before you run: each statement sets a tag on a column to which data of a tagged column was copied."
)


_NOTHING: Final = "-- Nothing to set: the answer has no rows."
_TWIN: Final = "cannot be written: rows have this name in several letter cases, and do not say which one is in quotes"
_Place = tuple[str | None, str]


def statements(answer: Answer) -> str:
    """The statements and comments, one in each line, sorted. ``answer``: with the columns for pages."""
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    by_place: dict[tuple[str, ...], list[dict[str, str | None]]] = {}
    for row in rows:
        place = [row.get(name) or "" for name in ("target_object_name", "target_column_name", "tag_name", "target_iri")]
        by_place.setdefault(tuple(place), []).append(row)
    lines = [line for _, same_place in sorted(by_place.items()) for line in _lines(same_place, _twins(rows))]
    return "\n".join([_HEAD, *lines] if lines else [_NOTHING]) + "\n"


def _twins(rows: Iterable[dict[str, str | None]]) -> set[_Place]:
    """The columns of an object of which several have the same name in other letter cases."""
    spellings: dict[_Place, set[str | None]] = {}
    for row in rows:
        spellings.setdefault(_place(row), set()).add(row["target_column_name"])
    return {place for place, names in spellings.items() if len(names) > 1}


def _place(row: Mapping[str, str | None]) -> _Place:
    return row["target_iri"], (row["target_column_name"] or "").upper()


def _lines(rows: list[dict[str, str | None]], twins: Container[_Place]) -> Iterator[str]:
    """Where the data of one column came from, and its statement, or why there is none."""
    row = rows[0]
    sources = sorted({f"{other['source_object_name']}.{other['source_column_name']}" for other in rows})
    values = sorted({other["value"] or "" for other in rows})
    yield comment(f"{row['target_object_name']}.{row['target_column_name']}: copied from {', '.join(sources)}")
    texts = [_TWIN] if _place(row) in twins else [_statement(row, value) for value in values]
    if len(values) > 1:
        yield comment("its sources have different values of the tag; choose one:")
    for text in texts:
        yield comment(text) if len(values) > 1 or text.startswith("cannot") else text


def _statement(row: dict[str, str | None], value: str) -> str:
    """The statement; a text that begins with ``cannot`` says why there is none."""
    classes = {text.rpartition("#")[2] for text in (row["target_class_iri"] or "").split()}
    kind = next((name for class_name, name in _KINDS.items() if class_name in classes), None)
    thing, column, tag = row["target_object_name"] or "", row["target_column_name"] or "", row["tag_name"] or ""
    if kind is None:
        return "cannot have a tag on a column: it is not a table or a view"
    if len(parts_of(thing)) != _PARTS or len(parts_of(tag)) != _PARTS:
        return f"cannot be written: {thing} or {tag} is not the full name of an object"
    if not column:
        return "cannot be written: the column has no name"
    if visible(names := thing + column + tag) != names or "\0" in value:
        return "cannot be written: a name has characters that are not shown, or the value has NUL"
    return f"ALTER {kind} {name(thing)} MODIFY COLUMN {column_name(column)} SET TAG {name(tag)} = {literal(value)};"


def name(text: str) -> str:
    """The full name of an object, for a statement.

    >>> name('db.s."a b"'), name("DB.S.ORDER")
    ('DB.S."a b"', 'DB.S."ORDER"')
    """
    return ".".join(map(_identifier, parts_of(text)))


def column_name(text: str) -> str:
    """The name of a column; a text that is no identifier is the name as it is, in quotes.

    >>> column_name("EMAIL"), column_name("a.b"), column_name('x" ; drop')
    ('EMAIL', '"a.b"', '"x"" ; drop"')
    """
    parts = parts_of(text)
    return _identifier(parts[0]) if len(parts) == 1 else quoted(text)


def _identifier(part: str) -> str:
    """A quoted part as it is, a plain one in upper case, another in quotes."""
    inner = part.upper() if _is_plain(part.upper()) else unquoted(part)
    return inner if _is_plain(inner) and inner not in _RESERVED else quoted(inner)


def literal(text: str) -> str:
    r"""A string of Snowflake's SQL, in which a backslash begins an escape; on one line.

    >>> literal("it's"), literal("a\\b\nc")
    ("'it''s'", "'a\\\\b\\nc'")
    """
    escaped = text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return "'" + "".join(char if visible(char) == char else _escape(char) for char in escaped) + "'"


def _escape(char: str) -> str:
    """A character that is not shown, in UTF-16 as Snowflake's escapes have it."""
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def comment(text: str) -> str:
    r"""A comment of one line, whatever the text holds.

    >>> comment("a\ndrop table t")
    '-- a\\ndrop table t'
    """
    return f"-- {visible(text)}"
