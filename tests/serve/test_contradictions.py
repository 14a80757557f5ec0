"""Pages and the command agree: each link of an answer leads to a page that has what the row says, and each part of such
a page has what ``exporter query`` answers by the object's id. Drawn histories with renames, swaps and re-creations.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from exporter.ask.questions import ask, find, questions
from exporter.graph.store import load
from exporter.serve import server
from tests import exports
from tests.ask import dense_histories, share_histories
from tests.pages import as_shown
from tests.serve.conftest import MONTH, sited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask.testing import FlaskClient
    from pyoxigraph import Store


SEEDS: Final = range(int(os.environ.get("EXPORTER_TEST_PAGES", "1")))
"""More of them: ``EXPORTER_TEST_PAGES=60 bin/test tests/serve/test_contradictions.py``; ``-rP`` shows the
number of cells compared.
"""
LATER: Final = "not ready yet"
NOTHING: Final = ("None.", "Nowhere.", "Nobody read it.", "Nobody wrote to it.", "None were set.", "Nothing.")
AS_SHIPPED: Final = ("exposure", "end-up", "column-readers", "unmasked-reads", "root-cause", "column-copies")
"""The parts of pages that show the answer of the question of their name."""


@dataclass
class Cell:
    """``plain``: its text outside of links; a cell with one link has all of its text inside of it. ``labels``: the text
    of each link.
    """

    plain: str = ""
    linked: str = ""
    links: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.plain.strip() or self.linked

    def means(self, other: Cell) -> bool:
        """Whether both name one thing: by their links, else by their text."""
        return bool(set(self.links) & set(other.links)) if self.links and other.links else self.text == other.text


@dataclass
class Part:
    """A part of a page: ``rows`` by heading; ``words``: the text beside the table."""

    rows: list[dict[str, Cell]] = field(default_factory=list)
    words: str = ""

    @property
    def texts(self) -> list[tuple[str, ...]]:
        return [tuple(cell.text for cell in row.values()) for row in self.rows]


class Parts(HTMLParser):
    """The parts of a page by the id of their heading; what comes before them has the name ``""``."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: dict[str, Part] = {"": Part()}
        self._part, self._cell = self.parts[""], None
        self._heads: list[str] = []
        self._row: list[Cell] = []
        self._is_link = False
        self.feed(html)

    _cell: Cell | None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "section":
            self._part = self.parts.setdefault(told.get("aria-labelledby") or "", Part())
        if tag == "thead":
            self._heads = []
        if tag == "tr":
            self._row = []
        if tag in ("td", "th"):
            self._cell = Cell()
        if tag == "a" and self._cell is not None:
            self._cell.links.append(told["href"] or "")
            self._cell.labels.append("")
            self._is_link = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._is_link = False
        if tag == "th" and self._cell is not None:
            self._heads.append(self._cell.text)
        if tag == "td" and self._cell is not None:
            self._row.append(self._cell)
        if tag in ("td", "th"):
            self._cell = None
        if tag == "tr" and self._row:
            self._part.rows.append(dict(zip(self._heads, self._row, strict=True)))
        if tag == "section":
            self._part = self.parts[""]

    def handle_data(self, data: str) -> None:
        if self._cell is None:
            self._part.words += data
        elif self._is_link:
            self._cell.linked += data
            self._cell.labels[-1] += data
        else:
            self._cell.plain += data


@dataclass
class Compared:
    """A site, its graph, and what was compared so far."""

    client: FlaskClient
    store: Store
    has_all: bool = True
    cells: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    pages: dict[str, dict[str, Part]] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)

    def page(self, address: str) -> dict[str, Part]:
        if address not in self.pages:
            got = self.client.get(address)
            assert got.status_code == 200, f"{address}: {got.text}"
            assert LATER not in got.text
            assert "http-equiv" not in got.text
            self.pages[address] = Parts(got.text).parts
        return self.pages[address]

    def check(self, *, agrees: bool, words: str) -> None:
        self.cells += 1
        if not agrees:
            self.wrong[words] += 1


@pytest.fixture(scope="module", params=("month", *(f"dense-{seed}" for seed in SEEDS), "shared-1"))
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    """The first page of the month has the rows of its answers; all questions are asked of what is drawn."""
    kind, _, seed = request.param.partition("-")
    folder = tmp_path_factory.mktemp("pages")
    if kind == "month":
        rows, history = MONTH / "access_history.ndjson", MONTH / "query_history.csv"
    else:
        drawn = share_histories.history(int(seed), 18) if kind == "shared" else _dense(int(seed))
        rows, history = (exports.ndjson(one, folder / f"{place}.ndjson") for place, one in enumerate(drawn))
    options = ("--query-history", str(history), "--outputs", "graph", "--account", "ACME-PROD")
    assert exports.export([rows], folder / "out", *options) == 0
    with sited(folder / "out") as site:
        yield Compared(server.make(site, "127.0.0.1").test_client(), load(folder / "out"), has_all=kind != "month")


def _dense(seed: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    return dense_histories.history(seed, 24, dense_histories.ENDING)


# --- what the page behind a link has to say --------------------------------------------------------------------------


def _has(part: str, *wanted: str) -> Callable[[dict[str, Part], dict[str, Cell]], bool]:
    """Whether the part of the page has a row with the cells of the row under the headings ``wanted``."""

    def has(page: dict[str, Part], row: dict[str, Cell]) -> bool:
        cells = [row[name] for name in wanted if row[name].text]
        return any(all(any(cell.means(one) for one in there.values()) for cell in cells) for there in page[part].rows)

    return has


def _is_full(part: str) -> Callable[[dict[str, Part], dict[str, Cell]], bool]:
    return lambda page, _: bool(page[part].rows)


def _was_set(page: dict[str, Part], row: dict[str, Cell]) -> bool:
    """A tag that is unset may have been set before the record, and then no row shows since when it held."""
    return row["Operation"].text == "DROP" or _is_full("settings")(page, row)


def _named(page: dict[str, Part], label: str) -> bool:
    """Whether it is a name of the object, or one that a statement on the page gives it: without an id, what a RENAME
    makes is another object.
    """
    names = {texts[0].upper().replace('"', "") for texts in page["names"].texts}
    renames = page["changes"].texts if "changes" in page else []
    names |= {texts[3].upper().replace('"', "") for texts in renames if len(texts) == 6}
    return not names or label.upper().replace('"', "") in names


CLAIMS: Final = {
    ("unmasked-reads", "Column"): _has("unmasked-reads", "User", "Query", "Query start time"),
    ("unmasked-reads", "Object"): _has("readers", "User"),
    ("unmasked-copies", "Source column"): _has("column-copies", "Target object", "Target column"),
    ("unmasked-copies", "Target column"): _is_full("column-readers"),
    ("unmasked-copies", "Target object"): _is_full("readers"),
    ("policy-coverage", "Column"): _is_full("settings"),
    ("policy-coverage", "Object"): _is_full("settings"),
    ("column-lineage", "Target column"): _is_full("root-cause"),
    ("column-lineage", "Source column"): _is_full("column-copies"),
    ("downstream-users", "Object"): _has("readers", "User"),
    ("joins", "Left object"): _is_full("readers"),
    ("joins", "Right object"): _is_full("readers"),
    ("exposure", "Object"): _has("exposure", "Grantee"),
    ("policy-access", "Object"): _has("readers", "User"),
    ("tag-history", "Column"): _was_set,
    ("column-copies", "Target column"): _is_full("root-cause"),
}
"""Question and heading of a linked cell -> what the page behind the link has to have for the row."""
CHANGES: Final = {
    "new reader": _has("readers", "User"),
    "new copy": _has("writers", "User"),
    "object made": _has("changes", "Query"),
    "object dropped": _has("changes", "Query"),
    "object brought back": _has("changes", "Query"),
    "tag set": _is_full("settings"),
    "masking policy set": _is_full("settings"),
}


LISTS: Final = ("Tags", "Policies", "Direct objects", "Base objects", "Columns", "Target columns")
"""Headings of columns with several names, each with its own page."""


def _claim(question: str, heading: str, row: dict[str, Cell]) -> Callable[[dict[str, Part], dict[str, Cell]], bool]:
    if question == "changes" and heading == "Object":
        return CHANGES.get(row["Change"].text, lambda *_: True)
    if (
        question == "column-lineage"
        and heading == "Source column"
        and row["Source column type"].text == "behind what it names"
    ):
        return lambda *_: True
    return CLAIMS.get((question, heading), lambda *_: True)


def _follow(compared: Compared, question: str, row: dict[str, Cell]) -> None:
    """Follows the links of a row of an answer. If a cell has several, what the row says is on one of their pages."""
    for heading, cell in row.items():
        links = [one for one in cell.links if one.startswith(("/object", "/column"))]
        for link in links:
            compared.check(agrees="name=" not in link, words=f"{question}: a link by name")
        pages = [compared.page(link) for link in links]
        claim = _claim(question, heading, row)
        if pages:
            texts = [one.text for one in row.values()]
            compared.check(
                agrees=any(claim(page, row) for page in pages), words=f"{question} {heading}: {texts} {links}"
            )
        if heading in LISTS:
            for label, link in zip(cell.labels, cell.links, strict=True):
                is_column = link.startswith("/column")
                agrees = f"column={quote(label)}" in link if is_column else _named(compared.page(link), label)
                compared.check(agrees=agrees, words=f"{question}: {label} is no name of {link}")
        elif pages and "names" in pages[0]:
            named = any(_named(page, cell.text) for page in pages)
            compared.check(agrees=named, words=f"{question}: {cell.text} is no name of {links}")
        for link in links:
            _as_the_command_says(compared, link)


# --- what the command says by id --------------------------------------------------------------------------------------


def _as_the_command_says(compared: Compared, link: str) -> None:
    """Each part of the page has the command's answer by id. Objects without an id, the command cannot ask for."""
    asked = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    kind, _, number = asked.get("id", "").partition("/")
    if link in compared.checked or not number.isdigit():
        return
    compared.checked.add(link)
    page = compared.page(link)
    domain = {"table": "Table", "view": "View", "stage": "Stage"}.get(kind)
    for name, part in page.items():
        compared.check(agrees=not any(word in part.words for word in NOTHING), words=f"{link}: {name} says nothing")
        if domain is None or name not in (*AS_SHIPPED, "readers", "writers"):
            continue
        question = {"readers": "who-accessed"}.get(name, name)
        given = {"object_id": number, "domain": domain}
        if "column" in asked:
            given["column_name"] = asked["column"]
        found = ask(compared.store, find(question), given)
        if name in AS_SHIPPED:
            shown, rows = len(part.rows), len(found.rows)
            compared.check(agrees=shown == min(rows, 20), words=f"{link}: {name} has {shown} rows, the command {rows}")
        else:
            users = {row[0] for row in found.rows}
            shown_users = {texts[0] for texts in part.texts}
            agrees = users == shown_users if name == "writers" else users <= shown_users
            compared.check(agrees=agrees, words=f"{link}: {name} has {shown_users}, the command {users}")


def _questions(compared: Compared) -> Iterator[tuple[str, dict[str, str]]]:
    """Every question with as few parameters as it takes, of some objects and columns of the graph."""
    step = 15 if compared.has_all else 45
    names = compared.store.query(
        "PREFIX ah: <https://w3id.org/access-history#> SELECT DISTINCT ?name ?column WHERE { ?object ah:domain ?kind ; "
        'ah:hasName/ah:nameText ?name FILTER(?kind IN ("Table", "View", "Stage")) '
        "OPTIONAL { ?c ah:columnOf ?object ; ah:columnName ?column } } ORDER BY ?name ?column"
    )
    places = [tuple(term.value if term else "" for term in one) for one in names]  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    for question in questions():
        takes = {one.name: one.required for one in question.parameters}
        if question.name == "unused-objects":
            yield question.name, {"since": "2026-05-01T06:01:00"}
        elif question.name == "changes":
            yield question.name, {"since": "2026-01-01"}
        elif (not any(takes.values()) and "object_id" not in takes) or question.name == "policy-coverage":
            yield question.name, {}
        elif {"object_name", "column_name"} <= takes.keys():
            chosen = [place for place in places if place[1]][::step]
            yield from ((question.name, {"object_name": name, "column_name": column}) for name, column in chosen)
        elif "object_name" in takes:
            yield from ((question.name, {"object_name": name}) for name, _ in places[::step])


def test_pages_do_not_contradict_the_command(compared: Compared) -> None:
    looks = ("unmasked-reads", "unmasked-copies", "policy-coverage", "changes", "unused-objects")
    first = compared.page("/")
    for number, question in enumerate(looks, 1):
        for row in first[f"look-{number}"].rows:
            _follow(compared, question, row)
    for question, given in _questions(compared) if compared.has_all else ():
        answer = compared.client.get(f"/ask/{question}?{urlencode({'ask': '1', **given})}")
        if answer.status_code == 400:
            continue  # several kinds of things have the name
        page = compared.page(f"/ask/{question}?{urlencode({'ask': '1', **given})}")[""]
        command = ask(compared.store, find(question), given)
        shown, rows = len(page.rows), min(len(command.rows), 500)
        compared.check(agrees=shown == rows, words=f"{question} {given}: {shown} rows, the command {rows}")
        for note in command.notes:
            told = " ".join(as_shown(note).split()) in " ".join(page.words.split())
            compared.check(agrees=told or "--max-rows" in note, words=f"{question} {given}: without {note}")
        for row in page.rows[:60]:
            _follow(compared, question, row)
    sys.stdout.write(f"{compared.cells} cells compared, {sum(compared.wrong.values())} contradictions\n")
    assert compared.cells > 300
    assert not compared.wrong, "\n".join(list(compared.wrong)[:20])
