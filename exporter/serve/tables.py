"""Answers on pages: tables whose cells have links to the pages of what they name, and the notes on an answer.

A part of a page is a question with its answer; where there is none, it says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from urllib.parse import urlencode

from flask import Response, g, url_for
from markupsafe import Markup, escape

from exporter.ask.answers import Answer, listed
from exporter.ask.notes.left_out import is_of_graph
from exporter.ask.pool import TooLongError
from exporter.errors import ExporterError
from exporter.model.identifiers import match_name
from exporter.serve.site import CUT, Row, Site, is_cut
from exporter.system.terminal import counted

_OBJECTS: Final[Mapping[str, str]] = {
    "object_name": "object_iri",
    "new_name": "new_iri",
    "source_name": "source_iri",
    "tag_name": "tag_iri",
    "target_name": "target_iri",
    "left_name": "left_iri",
    "right_name": "right_iri",
    "set_name": "set_iri",
    "policy_name": "policy_iri",
    "source_object_name": "source_iri",
    "target_object_name": "target_iri",
    "table_name": "object_iri",
    "left_object": "left_iri",
    "right_object": "right_iri",
}
"""Columns with the name of an object -> the column with its IRI, if the question has one; that one is not shown."""
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "column_name": ("object_name", "table_name"),
    "source_column_name": ("source_object_name", "source_name"),
    "target_column_name": ("target_object_name", "target_name"),
}
"""Columns with the name of a column -> the columns that may name its object."""
_LISTS_OF_COLUMNS: Final[Mapping[str, str]] = {"columns": "object_name", "target_columns": "target_name"}
"""Columns with names of columns -> the column that names their object."""
_LISTS_OF_OBJECTS: Final = frozenset({"direct_objects", "base_objects", "tags", "policies"})
"""Columns with names of objects; tags have their value behind a sign of equality."""
_ITS_OBJECTS: Final[Mapping[str, str]] = {"direct_objects": "read_iri", "base_objects": "read_iri"}
"""Such a column -> the column with the IRIs of these objects, and of others."""
_OTHER_LISTS: Final = frozenset({"agent_name"})
"""Columns with names that have no pages."""
_QUERIES: Final = frozenset({"query_id", "parent_query_id", "root_query_id"})
_QUERY: Final = "Truncated query"
"""The domain that ``end-up`` gives to a query in the place of an object."""
_TIMES: Final = ("time", "first", "last", "from", "until", "seen", "_read", "_write", "dropped")
_SHORT: Final = frozenset({"kind", "domain", "operation", "queries"})
_HEADINGS: Final = {
    "set_name": "Tag or policy",
    "query_id": "Query",
    "parent_query_id": "Part of",
    "root_query_id": "Root",
    "user_names": "Users",
}
_HOW_NAMED: Final = {
    "DIRECT": "named in the statement",
    "BASE": "behind what it names",
    "INFERRED": "inferred from names",
}
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "access": _HOW_NAMED,
    "source_type": _HOW_NAMED,
    "source_column_type": _HOW_NAMED,
    "mask": {
        "BEFORE": "before its first mask on record",
        "AFTER": "after it had been masked",  # by a mask that a row removed, or that was only enforced before
        "WHILE": "while it had a mask",
        "UNKNOWN": "not known: the record lacks a policy that was enforced",
        "MASKED": "masked",
        "CLEAR": "unmasked",
    },
    "known_by": {"COLUMN": "column by column", "OBJECT": "as a whole"},
    "evidence": {"CERTAIN": "certain", "POSSIBLE": "possible"},
}
"""Values of columns that mean something to Snowflake or to a question -> the same in words."""
NOT_READY: Final = "The answer is not ready yet. The page loads again by itself until it is there."

ASKED_AGAIN: Final = (
    "The page asks again if you come back some minutes later: the machine may have been busy. On a large graph, "
    "exporter query with --timeout gives the question more time."
)


class Cell(NamedTuple):
    """``kind``: how the cell is displayed, a class of style.css; ``pages``: text and address of the page of each thing
    that the cell means, if there are several, and then ``href`` finds them by name; ``items``: the same for the parts
    of a list, with the text after each; ``exact``: a time as the graph has it; ``after``: text behind the link.
    """

    text: str
    href: str | None = None
    kind: str = ""
    pages: Sequence[tuple[str, str]] = ()
    items: Sequence[tuple[str, str | None, str]] = ()
    exact: str = ""
    after: str = ""


@dataclass(frozen=True)
class Table:
    """``more``: the address with all rows, None if these are all; ``is_cut``: whether there are more rows than the
    answer has; ``count``: how many it has, of which these may be the first.
    """

    columns: tuple[str, ...]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    more: str | None = None
    is_cut: bool = False
    count: int = 0

    @property
    def is_explained(self) -> bool:
        """Whether a note says why there are no rows, or what they lack: then "No row" is not said flatly."""
        return not all(map(is_of_graph, self.notes))

    def dicts(self) -> list[dict[str, Cell]]:
        """The rows, each as column -> cell."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Part(NamedTuple):
    """A part of a page. ``name``: in the address; ``table``: None where there is no answer; ``words``: the reason, or
    the text for no rows; ``more``: the address with all rows.
    """

    title: str
    name: str
    table: Table | None
    words: str
    more: str = ""


def answered(ask: Callable[[], Answer], advice: str = ASKED_AGAIN) -> Answer | str:
    """The answer, or why there is none: it is not ready, so that a browser loads the page again, or an error.
    ``advice``: what a person can do if it took too long.
    """
    try:
        return ask()
    except TimeoutError:
        return not_ready()
    except TooLongError as error:
        return f"{error.fact} {advice}"
    except ExporterError as error:
        return str(error)


def part_of(  # noqa: PLR0913, PLR0917 - a part, and how much of its answer is shown
    site: Site, title: str, name: str, ask: Callable[[], Answer], empty: str, most: int | None, more: str
) -> Part:
    """A part of a page with its answer. ``empty``: what no row of the record does, if the answer has no rows; ``most``:
    the most rows of the table, None for all; ``more``: the address with all of them.
    """
    answer = answered(ask)
    if isinstance(answer, str):
        return Part(title, name, None, answer, more)
    return Part(title, name, table(site, answer, most, more or None), site.no_row(empty), more)


def not_ready() -> str:
    """What a page says in the place of an answer that is not ready; a browser then loads the page again."""
    g.is_incomplete = True
    return NOT_READY


def is_incomplete() -> bool:
    """Whether the page lacks an answer that is not ready."""
    return bool(g.get("is_incomplete"))


def table(
    site: Site, answer: Answer, most: int | None = None, more: str | None = None, *, has_lists: bool = True
) -> Table:
    """The first ``most`` rows of an answer; all if None. ``has_lists``: whether columns with the names of lists have
    lists, as those of questions do; in an answer to a user's own query each cell is one value.
    """
    columns = tuple(column for column in answer.columns if not column.endswith("_iri"))
    rows = replace(answer, rows=answer.rows[:most]).dicts()
    cells = _Cells(site, rows, listed if has_lists else _single_value)
    is_few = most is not None and len(answer.rows) > most
    return Table(
        columns,
        [[cells.cell(column, row) for column in columns] for row in rows],
        [note.partition(CUT)[0] for note in answer.notes if not (is_few and CUT in note)],
        more if is_few else None,
        is_cut(answer),
        len(answer.rows),
    )


class _Cells:
    """The cells of rows. Links are by id: a name without one leads to all objects that had it."""

    def __init__(self, site: Site, rows: Sequence[Row], values: Callable[[str | None], list[str]]) -> None:
        self._site = site
        self._listed = values
        lacking = [
            row.get(name) for row in rows for name, iri in _OBJECTS.items() if name != "set_name" and not row.get(iri)
        ]
        names = [
            name
            for row in rows
            for column in _LISTS_OF_OBJECTS
            for _, name, _ in self._objects(column, row.get(column))
        ]
        self._holders = site.holders(name for name in (*lacking, *names) if name)

    def cell(self, column: str, row: Row) -> Cell:
        text = row[column]
        if text is None:
            return Cell("")
        if pages := self._pages(column, text, row):
            is_one = len(pages) == 1
            href, after = (pages[0][1], self._of(column, row)) if is_one else (self._by_name(column, text, row), "")
            return Cell(text, href, pages=() if is_one else pages, after=after)
        if any(part in column for part in _TIMES) and text[10:11] == "T":
            return Cell(time(text), None, "time", exact=text)
        if text and (items := self._items(column, text, row)):
            return Cell("", items=items)
        if text.isdigit() and column in ("queries", "users", "rows"):
            return Cell(f"{int(text):,}", None, "short")
        words = ", ".join(self._listed(text)) if column in _OTHER_LISTS else _WORDS.get(column, {}).get(text, text)
        return Cell(words, None, "short" if column in _SHORT else "")

    def _pages(self, column: str, text: str, row: Row) -> list[tuple[str, str]]:
        """Label and address of the page of each thing that a cell names; none where there is no such page."""
        if column in _QUERIES or (column == "target_name" and row.get("target_domain") == _QUERY):
            return [(text, url_for("queries.query", id=text))]
        if column == "user_name":
            return [(text, url_for("queries.user", name=text))]
        if column in _OBJECTS:
            return [(_label(path), url_for("objects.show", id=path)) for path in self._paths(column, row)]
        owners = (self._paths(owner, row) for owner in _COLUMNS.get(column, ()))
        paths: list[str] = next((owner for owner in owners if owner), [])
        return [(_label(path), url_for("objects.column", id=path, column=text)) for path in paths]

    def _by_name(self, column: str, text: str, row: Row) -> str:
        """The page of the object or column that had a name last, which names the others."""
        if column in _OBJECTS:
            return url_for("objects.show", name=text)
        owner = next(row[owner] for owner in _COLUMNS[column] if row.get(owner))
        return url_for("objects.column", name=owner, column=text)

    def _of(self, column: str, row: Row) -> str:
        """The account of an object that is not of the account whose rows name it, unless the row has a cell for it."""
        path = "" if column not in _OBJECTS or "account" in row else self._paths(column, row)[0]
        account = self._site.other_account(self._site.iri(path))
        return account and f" of {account}"

    def _paths(self, column: str, row: Row) -> list[str]:
        """The objects that a column names, as addresses have them."""
        if iris := row.get(_OBJECTS[column]):
            return [self._site.path(iri) for iri in iris.split(" ")]
        holders = () if column == "set_name" else self._holders.get(match_name(row.get(column) or ""), ())
        return [self._site.path(iri) for iri in holders]

    def _items(self, column: str, text: str, row: Row) -> list[tuple[str, str | None, str]]:
        """The parts of a list, each with the address of its page, and the value of a tag; none where it is no list."""
        if column == "user_names":
            return users(self._listed(text))
        if column in _LISTS_OF_COLUMNS and (paths := self._paths(_LISTS_OF_COLUMNS[column], row)):
            return [(name, url_for("objects.column", id=paths[0], column=name), "") for name in self._listed(text)]
        if column in _LISTS_OF_COLUMNS:
            return [(name, None, "") for name in self._listed(text)]
        if column not in _LISTS_OF_OBJECTS:
            return []
        of_row = set((row.get(_ITS_OBJECTS.get(column, "")) or "").split())
        items: list[tuple[str, str | None, str]] = []
        for part, name, value in self._objects(column, text):
            holders = self._holders.get(match_name(name), ())
            iris = [iri for iri in holders if iri in of_row] or holders
            if len(iris) == 1:
                items.append((name, url_for("objects.show", id=self._site.path(iris[0])), value))
            else:
                items.append((part, None, ""))
        return items

    def _objects(self, column: str, text: str | None) -> list[tuple[str, str, str]]:
        """The parts of a list of objects: each as it is, its name, and the value of a tag."""
        if column != "tags":
            return [(name, name, "") for name in self._listed(text)]
        parts = ((part, *tag_and_value(part)) for part in self._listed(text))
        return [(part, name, "" if value is None else f" = {value}") for part, name, value in parts]


def _single_value(cell: str | None) -> list[str]:
    """The value of a cell that has no list."""
    return [cell] if cell else []


_tag: Final = re.compile(r'((?:"[^"]*"|[^"=])*)=(.*)', re.DOTALL).fullmatch


def tag_and_value(text: str) -> tuple[str, str | None]:
    """The name of a tag, and its value, None if it has none. In quotes, a sign of equality is part of the name.

    >>> tag_and_value("G.T.PII = high"), tag_and_value('G.T."A=B"=C=D'), tag_and_value("G.T.PII")
    (('G.T.PII', 'high'), ('G.T."A=B"', 'C=D'), ('G.T.PII', None))
    """
    match = _tag(text)
    name, sign, value = (match[1], "=", match[2]) if match else text.partition("=")
    return name.strip(), value.strip() if sign else None


def _label(path: str) -> str:
    """The text that distinguishes one of several objects with the same name.

    >>> _label("table/2051"), _label("row-access-policy/7"), _label("table/name/D.S.T")
    ('Table 2051', 'Row access policy 7', 'table/name/D.S.T')
    """
    kind, _, number = path.partition("/")
    return f"{kind.replace('-', ' ').capitalize()} {number}" if number.isdigit() else path


def users(names: Iterable[str]) -> list[tuple[str, str | None, str]]:
    """A list of users, each with the address of its page."""
    return [(user, url_for("queries.user", name=user), "") for user in names]


def ask_href(question: str, params: Mapping[str, str | Sequence[str]], kind: str = "") -> str:
    """The address of a question's page with parameters, which asks it at once; or of its file, with ``kind``."""
    path = url_for("questions.as_file", name=question, kind=kind) if kind else url_for("questions.ask", name=question)
    return f"{path}?{urlencode({'ask': '1', **params}, doseq=True)}"


_NOTES: Final = "Exporter-Notes"
"""The header of a file with the notes on its answer, as an array of JSON in ASCII."""
_LONGEST_NOTES: Final = 2_500
"""The most characters of it: proxies in front of the server refuse an answer whose headers have more than 4,096."""


def notes_header(notes: Iterable[str]) -> dict[str, str]:
    r"""The header of a file with the notes that the page has on the same answer, empty where there are none. The first
    ones, if all would be too long, and a sentence that others are left out.

    >>> notes_header(["No user Zo\u00eb."])
    {'Exporter-Notes': '["No user Zo\\u00eb."]'}
    """
    shown, left, size = list[str](), list(dict.fromkeys(note.partition(CUT)[0] for note in notes)), 0
    while left and (size := size + len(_in_ascii(left[0]))) <= _LONGEST_NOTES:
        shown.append(left.pop(0))
    if left:
        others = counted(len(left), "more note is", "more notes are")
        shown.append(f"{others} too long for a header: the page with this answer has all of them.")
    return {_NOTES: _in_ascii(shown)} if shown else {}


def download(content: str, name: str, content_type: str, notes: Iterable[str]) -> Response:
    """An answer as a file with a name, and the notes on it in a header."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', **notes_header(notes)}
    return Response(content, content_type=content_type, headers=headers)


def _in_ascii(value: str | list[str]) -> str:
    return json.dumps(value).replace("\x7f", "\\u007f")  # DEL is ASCII, and may not be in a header


# --- texts ------------------------------------------------------------------------------------------------------------


def words(column: str) -> str:
    """The name of a column of an answer as text.

    >>> words("source_object_name")
    'Source object name'
    """
    return column.replace("_", " ").capitalize()


def heading(column: str) -> str:
    """The name of a column as a heading of a table: as :func:`words`, but shorter.

    >>> heading("source_object_name"), heading("query_id"), heading("set_name")
    ('Source object', 'Query', 'Tag or policy')
    """
    return _HEADINGS.get(column) or words(column.removesuffix("_name"))


_TIME_OR_QUERY: Final = re.compile(
    r"(?P<time>\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"
    # Not as a part of a name or of a path.
    r"|(?P<query>(?<![\w./-])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/-]|\.\w))"
)


def time(text: str) -> str:
    """A time of the graph to the second, in a form for people; all times are UTC.

    >>> time("2026-09-30T08:00:00Z"), time("2026-09-30T08:00:00.123Z"), time("never")
    ('2026-09-30 08:00:00', '2026-09-30 08:00:00', 'never')
    """
    return text[:19].replace("T", " ") if text[10:11] == "T" and text.endswith("Z") else text


_PARAM: Final = re.compile(r"--param (\w+)(?:=VALUE\b)?")


def note(text: object, *, has_links: bool = True) -> Markup:
    """A note or message as HTML, with its times in the form of the page and links to the queries that it names. A
    parameter is named as in addresses, without the option of the command. ``has_links``: a report that is sent has no
    pages that a link could lead to.

    >>> note("the first <is> 2026-09-30T08:00:00.5Z", has_links=False)
    Markup('the first &lt;is&gt; <time title="2026-09-30T08:00:00.5Z">2026-09-30 08:00:00</time>')
    >>> note("q needs --param object_name=VALUE or --param object_id=VALUE. --param since=soon is not a time.")
    Markup('q needs object_name or object_id. since=soon is not a time.')
    """
    message, end, html = _PARAM.sub(r"\1", str(text)), 0, Markup()
    for match in _TIME_OR_QUERY.finditer(message):
        html += escape(message[end : match.start()])
        if match["time"]:
            html += Markup('<time title="{}">{}</time>').format(match[0], time(match[0]))
        elif has_links:
            html += Markup('<a href="{}">{}</a>').format(url_for("queries.query", id=match[0]), match[0])
        else:
            html += escape(match[0])
        end = match.end()
    return html + escape(message[end:])


def name_parts(name: str) -> list[str]:
    """A name at its dots, but not at those in quotes.

    >>> name_parts('DB."a.b".T')
    ['DB', '"a.b"', 'T']
    """
    parts, quoted = [""], False
    for letter in name:
        quoted ^= letter == '"'
        if letter == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
