"""Filters and pseudonyms, applied to records: what these remove reaches no later step or file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, NamedTuple

from msgspec import structs

from exporter.input import documented_form
from exporter.input.documented_form import plain_text
from exporter.input.json_reader import Members
from exporter.input.query_history import History
from exporter.input.reading import Record, read_line
from exporter.input.row import Row, Unreadable
from exporter.input.times import parse_time
from exporter.privacy import earlier_users, known_users
from exporter.privacy.excluded_objects import is_no_text, with_names_as_texts, without_excluded
from exporter.privacy.filters import USERS, Filters, Privacy, pattern, quoted
from exporter.privacy.key import Key
from exporter.privacy.lines import Lines, lines_of
from exporter.privacy.user_text import OF_HISTORY, TEXT, is_own_word

LEFT_OUT: Final = "left_out_"
"""Prefix of the counts of rows that a filter left out."""
WITHHELD: Final = "its text is withheld, because it may contain names that pseudonyms or filters would hide"
_NO_NAME: Final = frozenset({"", "TRUNCATED", "null", "undefined", "\\N"})


class Seen(NamedTuple):
    """A record after filters and pseudonyms. ``text``: the text that is passed on. ``row``: as this text reads.
    ``left_out``: the filter that left it out, None if it is kept. ``objects``: the number of removed objects.
    """

    row: Row | Unreadable | None
    text: str
    left_out: str | None = None
    objects: int = 0


class Screened:
    """Counts what the filters left out in a partition: rows by filter, rows with fewer objects, removed objects, lines
    of QUERY_HISTORY. ``numbers``: the counts of the partition.
    """

    def __init__(self, numbers: Counter[str]) -> None:
        self._numbers = numbers

    def row(self, seen: Seen) -> tuple[Row | Unreadable | None, str]:
        """The row and its text; None and an empty text if it is left out."""
        if seen.left_out is not None:
            self._numbers[f"{LEFT_OUT}{seen.left_out}"] += 1
            return None, ""
        if seen.objects:
            self._numbers["reduced"] += 1
            self._numbers["objects_left_out"] += seen.objects
        return seen.row, seen.text

    def line(self, history: History | None) -> History | None:
        """The line; None if it is left out."""
        if history is None:
            self._numbers["history_left_out"] += 1
        return history


@dataclass(frozen=True)
class Screen:
    """``key``: of the pseudonyms, None without them. ``keep``: patterns of users that keep their names. ``names``: the
    names to be replaced, once they are known. ``earlier``: lines of :meth:`pseudonyms` for users whose names
    only earlier runs read. ``query_text``: whether SQL text is exported.
    """

    filters: Filters
    key: Key | None = None
    keep: tuple[str, ...] = ()
    names: frozenset[str] = field(default=frozenset(), repr=False)
    earlier: frozenset[str] = field(default=frozenset(), repr=False)
    query_text: bool = False

    @classmethod
    def of(cls, privacy: Privacy, *, query_text: bool) -> Screen | None:
        """The screen for these settings; None without filters and pseudonyms."""
        if privacy.key is None and not privacy.filters.any:
            return None
        return cls(privacy.filters, privacy.key, privacy.keep, privacy.users, query_text=query_text)

    # --- names -------------------------------------------------------------------------------------------------------

    def users_in(self, record: Record) -> Iterable[str]:
        """The user names in a record."""
        if record.is_history:
            return known_users.names_in_history(record.text, query_text=self.query_text)
        row = record.row()
        return known_users.names_in_row(row) if isinstance(row, Row) else known_users.names_in_unreadable(record.text)

    def knowing(self, names: Iterable[str], earlier: Iterable[str] = ()) -> Screen:
        """The screen with these names added, except those of users that keep theirs. ``earlier``: the lines
        of :meth:`pseudonyms` in earlier runs.
        """
        key = self.key
        if key is None:
            return self
        to_keep = [pattern("privacy.keep", text, USERS) for text in self.keep]
        known_names = {
            name for name in (*self.names, *names) if name.strip() not in _NO_NAME and not key.is_pseudonym(name)
        }
        hidden = frozenset(name for name in known_names if not any(names_of.matches(name) for names_of in to_keep))
        users, parts = earlier_users.lines_of_earlier(earlier, key)
        former_users = users.keys() - set(map(key.pseudonym, hidden))
        return replace(self, names=hidden, earlier=frozenset({*map(users.__getitem__, former_users), *parts}))

    def pseudonyms(self) -> list[str]:
        """What the next update needs to find the names of all known users, sorted: a line for each user, and digests
        of parts of names.
        """
        key = self.key
        of_names = () if key is None else (earlier_users.lines_of_name(name, key) for name in self.names)
        return sorted({*chain.from_iterable(of_names), *self.earlier})

    def replaced(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The texts, and those with the names of users replaced that these have: patterns of names find what rows are
        called with and without pseudonyms.
        """
        given, lines = tuple(texts), self._lines()
        return given if lines is None else tuple(dict.fromkeys((*given, *map(lines.text, given))))

    def _lines(self) -> Lines | None:
        """The replacer of names; None without pseudonyms."""
        return None if self.key is None else lines_of(self.key, self.names, self.earlier)

    # --- rows --------------------------------------------------------------------------------------------------------

    def look(self, record: Record) -> Seen:
        """Apply filters and pseudonyms to a record of ACCESS_HISTORY."""
        row = record.row()
        if row is None:
            return Seen(None, "")
        return self._row(row, record.text) if isinstance(row, Row) else self._unreadable(row, record)

    def _row(self, row: Row, text: str) -> Seen:
        left_out = self.filters.row(row.start, row.user_name)
        if left_out is not None:
            return Seen(None, "", left_out)
        lines = self._lines()
        row, shown = (row, text) if lines is None else _with_names_as_texts(row, text, self.names)
        objects = 0
        if self.filters.of_objects:
            less = without_excluded(row, self.filters)
            if less is not None and less.text is None:
                return Seen(None, "", less.reason)
            if less is not None and less.text is not None:
                shown, objects = less.text, less.objects
        shown = shown if lines is None else lines.line(shown)
        return Seen(row if shown == text else read_line(shown), shown, None, objects)

    def _unreadable(self, row: Unreadable, record: Record) -> Seen:
        """The same for a line that is not a valid row. Its text is kept only if it is a JSON object with a user, by a
        text, and a time: then its columns are known, and so are the places of names.
        """
        columns = _columns(record.text) if record.is_record else {}
        user = (columns.get("user_name") or "").strip() or None
        start = parse_time(columns.get("query_start_time") or columns.get("interval_start_time") or "")
        left_out = self.filters.row(start, user)
        if left_out is not None:
            return Seen(None, "", left_out)
        is_sure = user is not None and start is not None and not (self.key and is_no_text(user))
        if self.filters.of_objects or not (is_sure or (self.key is None and not self.filters.of_users)):
            # The text after a colon is quoted from the row.
            problems = [problem.partition(": ")[0] for problem in row.problems]
            return Seen(Unreadable((*problems, WITHHELD)), "")
        lines = self._lines()
        if lines is None:
            return Seen(row, record.text)
        quoted_by = (problem.partition(": ") for problem in row.problems)
        hidden = tuple(f"{text}{colon}{lines.text(quotation)}" for text, colon, quotation in quoted_by)
        return Seen(Unreadable(hidden), lines.line(record.text))

    # --- lines of QUERY_HISTORY --------------------------------------------------------------------------------------

    def line(self, history: History, text: str) -> History | None:
        """A line of QUERY_HISTORY after filters and pseudonyms; None if its query is left out. ``text``: its text."""
        if self.filters.any:
            columns = known_users.columns_of_history(text)
            if self.filters.row(parse_time(columns.get("start_time") or ""), columns.get("user_name")) is not None:
                return None
        if self.filters.of_objects:
            history = self._without_places(history)
        lines = self._lines()
        if lines is None:
            return history
        given = {name: value for name in (*_TEXTS, *OF_HISTORY) if (value := getattr(history, name)) is not None}
        texts = {name: text for name, text in given.items() if not is_own_word(OF_HISTORY.get(name, TEXT), text)}
        return structs.replace(history, **{name: lines.text(value) for name, value in texts.items()})

    def _without_places(self, history: History) -> History:
        """The line without the session's database and schema, if the filters leave them out."""
        database, schema = (
            None if name is None else quoted(name) for name in (history.database_name, history.schema_name)
        )
        if self.filters.object("DATABASE", database) is not None:
            return structs.replace(history, database_name=None, schema_name=None)
        if schema is not None and self.filters.object("SCHEMA", f"{database or quoted('')}.{schema}") is not None:
            return structs.replace(history, schema_name=None)
        return history


_TEXTS: Final = ("query_text", "query_tag", "role_name", "warehouse_name", "database_name", "schema_name")
"""Columns of QUERY_HISTORY that may hold a user's name, beside those in which words of Snowflake's stay."""


def _with_names_as_texts(row: Row, text: str, hidden: frozenset[str]) -> tuple[Row, str]:
    named = with_names_as_texts(row, hidden)
    again = None if named is None else read_line(named)
    return (again, named) if named is not None and isinstance(again, Row) else (row, text)


def _columns(text: str) -> dict[str, str | None]:
    """The columns with the user and the time of a line; empty if it is not one JSON object, or if it has several of
    one.
    """
    columns, doubled = documented_form.by_name((documented_form.members_of(text) or Members()).last())
    return {} if _OF_FILTERS & doubled else {name: plain_text(columns[name]) for name in _OF_FILTERS & columns.keys()}


_OF_FILTERS: Final = frozenset({"user_name", "query_start_time", "interval_start_time"})
