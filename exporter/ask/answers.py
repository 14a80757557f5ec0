"""An answer as text, and the objects that the names in it mean.

Text is a table for people, CSV for spreadsheets, or JSON for programs.

The shipped questions answer with names, and a name alone can mean several objects. For pages, their outermost SELECT
also has the objects, as columns that end in ``_iri``. The other columns and the rows stay the same, so a page shows
what the command prints. A page can also ask about one object by its IRI: an id can belong to objects of two accounts,
and an object without an id has only a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from exporter.errors import UsageError
from exporter.system.terminal import in_json, visible

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[str | None, ...]
Found = tuple[Sequence[str], Iterable[Iterable[object | None]]]
"""Variables, and rows of terms as SPARQL writes them."""


@dataclass(frozen=True)
class Answer:
    """An answer as a table. A cell is None where nothing is bound; ``notes``: what else the person has to know, for
    example that a limit cut the rows.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def dicts(self) -> list[dict[str, str | None]]:
        """The rows, each as column -> text."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def arrow(self) -> pa.Table:
        """The answer as an Arrow table; all columns are texts. Its notes are not in it."""
        import pyarrow as pa  # noqa: PLC0415 - the commands do not need it for an answer

        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        arrays = [pa.array(column, pa.string()) for column in cells]
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    def pandas(self) -> Any:
        """The answer as a ``DataFrame`` of pandas; None where nothing is bound."""
        return self.arrow().to_pandas()


def with_rows(answer: Answer, rows: Iterable[Mapping[str, str | None]]) -> Answer:
    """The answer with other rows."""
    return replace(answer, rows=[tuple(row[column] for column in answer.columns) for row in rows])


def first_of(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` texts as a list for a message: ``A, B and 3 more``."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{between.join(texts[:most])}{more}"


def render(answer: Answer, fmt: str) -> str:
    """``answer`` in one of :data:`FORMATS`, with a newline at the end."""
    if fmt not in FORMATS:
        raise UsageError(f"There is no format {fmt}. There are: {', '.join(FORMATS)}.")
    return FORMATS[fmt](answer)


def _table(answer: Answer) -> str:
    """Columns side by side; cells are empty where nothing is bound. Control characters become visible characters."""
    rows = [answer.columns, *(tuple(visible(cell or "") for cell in row) for row in answer.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(answer.columns))]
    header, *body = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    lines = [header, "  ".join("-" * width for width in widths), *body, _counted(len(answer.rows))]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _csv(answer: Answer) -> str:
    """CSV with a header (RFC 4180, but lines end in a newline alone). A cell is empty where nothing is bound.

    Spreadsheets run a cell that begins like a formula, and names can begin so. Such a cell gets a ``'`` in front, which
    spreadsheets take as the mark of a text. So does a cell of ``'`` and then a formula. To get the original back,
    remove one ``'`` where it stands before ``'``, ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers are
    unchanged.
    """
    lines = ([_csv_cell(cell or "") for cell in row] for row in (answer.columns, *answer.rows))
    return "".join(f"{','.join(line)}\n" for line in lines)


_is_like_a_formula: Final = re.compile(r"'*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]").match
_is_number: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII).fullmatch
_breaks_a_cell: Final = re.compile(r"[,;|\t\r\n\"]").search
"""Characters that programs take for the end of a cell without quotes: some split cells at others than commas."""


def _csv_cell(text: str) -> str:
    if _is_like_a_formula(text) and not _is_number(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _breaks_a_cell(text) else text


def _json(answer: Answer) -> str:
    """An array of objects, with the names of columns as keys and null where nothing is bound. Control characters for
    terminals are escaped, which changes no value.
    """
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return f"{in_json(json.dumps(rows, ensure_ascii=False, indent=2))}\n"


FORMATS: Final[Mapping[str, Callable[[Answer], str]]] = {"table": _table, "csv": _csv, "json": _json}


def _counted(rows: int) -> str:
    return "(1 row)" if rows == 1 else f"({rows} rows)"


_OBJECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "agent-reads": {"object_iri": "object"},
    "changes": {"object_iri": "object"},
    "column-copies": {"target_iri": "target"},
    "column-lineage": {"source_iri": "source", "target_iri": "object"},
    "downstream-users": {"object_iri": "accessed"},
    "end-up": {"target_iri": "target"},
    "exposure": {"object_iri": "object"},
    "joins": {"left_iri": "left", "right_iri": "right"},
    "lineage-as-of": {"source_iri": "source"},
    "policy-access": {"object_iri": "object", "policy_iri": "policy"},
    "policy-coverage": {"object_iri": "object"},
    "root-cause": {"source_iri": "source"},
    "tag-history": {"object_iri": "object"},
    "tag-reach": {"source_iri": "source", "target_iri": "target", "target_class_iri": "target_class"},
    "unmasked-copies": {"source_iri": "source", "target_iri": "target", "policy_iri": "policy"},
    "unmasked-reads": {"object_iri": "object"},
    "unused-objects": {"object_iri": "object"},
    "user-history": {"read_iri": "accessed"},
}
"""Question -> the columns for pages -> the variables of the question that have the objects."""
_ENDING: Final = "_iri"
_SELECT: Final = re.compile(r"^SELECT (?:DISTINCT )?(.*?)\s+WHERE \{", re.MULTILINE | re.DOTALL)
_OBJECTS_VARIABLES: Final = "?object ?match_name ?from ?to ?at ?until"
_OBJECTS_BEGIN: Final = f"SELECT DISTINCT {_OBJECTS_VARIABLES} WHERE {{"
"""The line of all questions that begins the pattern of the objects (docs/graph.md, "Names in questions")."""
_BEGIN_HERE: Final = "VALUES ?begin { 1 } { SELECT (1 AS ?begin) WHERE { } }"
_PREFIX: Final = re.compile(r"^PREFIX .*\n", re.MULTILINE)
_MARK: Final = re.compile(r"^ *(?P<comment>#) (?:The objects that are meant|Found first\b).*\n", re.MULTILINE)
"""The lines in front of the sub-SELECTs that :func:`with_found` finds first."""
_BRACES: Final = re.compile(r"""#[^\n]*|<[^<>\s]*>|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}]""")
"""The braces of a query, and the texts, IRIs and comments that may have others."""


_BETWEEN: Final = "\n\n"
"""Between the values of a list in answers for pages. As long as the ``, `` of other answers, which questions cut off
where it is in front of the first value.
"""
_LISTS: Final = (
    (re.compile(r'(GROUP_CONCAT\(DISTINCT )(\?\w+)(; separator=)", "'), r'\1ENCODE_FOR_URI(\2)\3"\\n\\n"'),
    (re.compile(r'CONCAT\(", ", (\?\w+)\)'), r'CONCAT("\\n\\n", ENCODE_FOR_URI(\1))'),
)
"""The two ways in which shipped questions write a list -> the same for pages."""
_LISTED: Final = frozenset(("agent_name", "base_objects", "direct_objects", "policies", "tags", "target_columns"))
"""The columns of shipped questions that have lists."""


def as_list(values: Iterable[str]) -> str:
    """A list as a cell of an answer for pages. A name or value can have any character, also line ends and NUL, so that
    none could separate it from the next one. Each is therefore written as SPARQL's ``ENCODE_FOR_URI`` does.
    """
    return _BETWEEN.join(quote(value, safe="") for value in values)


def listed(cell: str | None) -> list[str]:
    r"""The values of a list in an answer for pages; none where the cell is empty.

    >>> listed(as_list(["A, B", "C\n\nD", "100%25"])), listed("")
    (['A, B', 'C\n\nD', '100%25'], [])
    """
    return [unquote(value) for value in cell.split(_BETWEEN)] if cell else []


def as_printed(answer: Answer) -> Answer:
    """The answer of a shipped question for pages as the command prints it: no objects, and ``, `` in lists."""
    shown = [(place, name in _LISTED) for place, name in enumerate(answer.columns) if not name.endswith(_ENDING)]
    rows = [
        tuple(", ".join(listed(cell)) if is_list and (cell := row[place]) else row[place] for place, is_list in shown)
        for row in answer.rows
    ]
    return replace(answer, columns=tuple(answer.columns[place] for place, _ in shown), rows=rows)


def with_objects(question: str, query: str) -> str:
    """The query of a shipped question with the columns for pages, and with lists that :func:`listed` reads. In each
    group, the objects are one cell.
    """
    for written, for_pages in _LISTS:
        query = written.sub(for_pages, query)
    return with_columns(query, _OBJECTS.get(question, {}))


def with_columns(query: str, columns: Mapping[str, str]) -> str:
    """The query of a shipped question with more columns at its end, each from a variable of the query."""
    match = _SELECT.search(query)
    if not columns or match is None:
        return query
    is_grouped = re.search(r"^GROUP BY ", query, re.MULTILINE) is not None
    form = '(GROUP_CONCAT(DISTINCT STR(?{0}); separator=" ") AS ?{1})' if is_grouped else "(?{0} AS ?{1})"
    more = " ".join(form.format(variable, column) for column, variable in columns.items())
    return f"{query[: match.end(1)]} {more}{query[match.end(1) :]}"


def merged(columns: Sequence[str], rows: Iterable[Row], most: int | None) -> list[Row]:
    """Rows that differ only in their objects become one, with all of the objects in a cell, sorted and with spaces
    between (IRIs have none). Up to one row more than ``most``.
    """
    is_object = [column.endswith(_ENDING) for column in columns]
    objects_of_row: dict[Row, list[set[str]]] = {}
    for row in rows:
        key = tuple(None if hides else cell for cell, hides in zip(row, is_object, strict=True))
        objects = objects_of_row.get(key)
        if objects is None:
            if most is not None and len(objects_of_row) > most:
                break
            objects = objects_of_row[key] = [set() for _ in columns]
        for cell_objects, cell, hides in zip(objects, row, is_object, strict=True):
            if hides and cell:
                cell_objects.update(cell.split(" "))
    return [
        tuple(
            " ".join(sorted(cell_objects)) or None if hides else cell
            for cell, cell_objects, hides in zip(key, objects, is_object, strict=True)
        )
        for key, objects in objects_of_row.items()
    ]


def about(query: str, things: Iterable[str]) -> str:
    """The query of a shipped question about the objects with these IRIs alone. Line numbers stay."""
    for thing in things:
        if re.search(r"[\x00-\x20<>\"{}|^`\\]", thing):
            raise UsageError(f"{thing!r} is not an IRI.")
    objects = " ".join(f"<{thing}>" for thing in things)
    return query.replace(_OBJECTS_BEGIN, f"{_OBJECTS_BEGIN} VALUES ?object {{ {objects} }}")


@dataclass
class _Part:
    """A marked sub-SELECT of a query: where its mark begins, where it begins and ends, and the marked ones in it."""

    mark: int
    begin: int
    end: int
    inside: list[_Part] = field(default_factory=list)


def with_found(query: str, find: Callable[[str], Found | None]) -> str:
    """The query of a shipped question with the rows of its marked sub-SELECTs in their place, the innermost first: of
    the pattern of the objects that its names mean, and of those in front of which a line ``# Found first`` stands.

    Engines plan a sub-SELECT again at each place where it stands, and again with each pattern around it, which takes
    longer than most answers. ``find``: the variables and rows of a sub-SELECT alone; None if they are too many for a
    query, in which it then stays as it is, with all around it.
    """
    prefixes = "".join(_PREFIX.findall(query))
    known: dict[str, str | None] = {}

    def rows_of(part: _Part) -> str | None:
        """The rows of a part as a sub-SELECT; None if they, or those of a part in it, are too many."""
        key = "\n".join(map(str.strip, query[part.begin : part.end].splitlines()))
        if key not in known:
            text, is_whole = filled(part)
            found = find(prefixes + text) if is_whole else None
            known[key] = None if found is None else _values(*found)
        return known[key]

    def filled(part: _Part) -> tuple[str, bool]:
        """The text of a part with the rows of those in it in their place, and whether that is so of all of them."""
        pieces, at, is_whole = list[str](), part.begin, True
        for inner in part.inside:
            rows = rows_of(inner)
            if rows is None:
                is_whole = False
                pieces += query[at : inner.begin], filled(inner)[0]
            else:
                pieces += query[at : inner.mark], rows
            at = inner.end
        return "".join([*pieces, query[at : part.end]]), is_whole

    return filled(_marked(query))[0]


def _marked(query: str) -> _Part:
    """The whole query, with its marked parts. A part ends with the group in which it is."""
    marks = {mark.start("comment"): mark for mark in _MARK.finditer(query)}
    whole = _Part(0, 0, len(query))
    around, of_group = [whole], list[list[_Part]]()
    for token in _BRACES.finditer(query):
        if token[0] == "{":
            of_group.append([])
        elif token[0] == "}":
            for part in of_group.pop():
                part.end = token.start()
                around.pop()
        elif mark := marks.get(token.start()):
            part = _Part(mark.start(), mark.end(), mark.end())
            around[-1].inside.append(part)
            around.append(part)
            of_group[-1].append(part)
    return whole


def _values(variables: Sequence[str], rows: Iterable[Iterable[object | None]]) -> str:
    """A sub-SELECT with these rows. The select in it tells engines that guess sizes to begin here."""
    values = " ".join(f"({' '.join('UNDEF' if term is None else str(term) for term in row)})" for row in rows)
    names = " ".join(variables)
    return f"SELECT {names} WHERE {{ {_BEGIN_HERE} VALUES ({names}) {{ {values} }} }}\n"
