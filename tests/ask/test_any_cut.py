"""Whatever Snowflake cut of a row: no answer differs in silence, and nothing has the name of what was cut.

docs/input.md, "Rows that Snowflake truncated": "The program never names anything after these values. It exports what is
left, and the query says what is missing"; "Answers that need the place say so". docs/questions.md, "Why an answer is
empty or short", has the note. The view's page, "Usage notes", says what is cut, and with what it is replaced.

Each story of ``cut_stories.py`` is asked as a whole; then with one place of one row cut, as a separate account. An
answer that then lacks rows or has others must have the note. ``python -m tests.ask.test_any_cut`` cuts every place of
all stories, or of those that are named; the test cuts each kind of place in each way once.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import defaultdict
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyoxigraph import Literal, NamedNode, Store

from exporter.ask.answers import Answer
from exporter.ask.questions import ask, check_all, find
from exporter.errors import UsageError
from exporter.graph.store import load
from tests import exports
from tests.ask.cut_stories import ASKED, STORIES, Asking, in_new_form, told
from tests.ask.cuts import CHANGE, TRUNCATED, Cut, cuts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Json = dict[str, Any]
FORMS: Final = {"before 2178": lambda story: story, "after 2179": in_new_form}
NOTE: Final = re.compile(
    r"cut by Snowflake|that Snowflake cut|not understood in full|of which the row gives no type, id or name"
)
AH: Final = "https://w3id.org/access-history#"
INCOMPLETE: Final = f"{AH}incomplete"
RAW: Final = frozenset({INCOMPLETE, f"{AH}properties", f"{AH}value"})
"""What the graph has as the row gives it, or says of what was cut."""
RAW_OF_EVENTS: Final = frozenset({"properties", "places"})
SENTINEL_IN_IRI: Final = re.compile(r"TRUNCATED|/-1(?:[/#]|$)")


class Case(NamedTuple):
    """A story with one place cut. ``number``: of the row."""

    story: str
    form: str
    number: int
    cut: Cut

    def __str__(self) -> str:
        return f"{self.story}, {self.form}, row {self.number + 1}: {self.cut}"


def cases(stories: Iterable[str]) -> Iterator[Case]:
    """All that can be cut, but for what is known to be silent."""
    for story in stories:
        for form, given in FORMS.items():
            for number, row in enumerate(given(STORIES[story])):
                for cut in cuts(row):
                    if not _is_left_out(cut) and (form == "before 2178" or cut.place[0] == CHANGE):
                        yield Case(story, form, number, cut)


def _is_left_out(cut: Cut) -> bool:
    """An id beside a whole name: the name is used, and nothing is lost (docs/input.md)."""
    names = [key for key in cut.place if isinstance(key, str) and key != "value"]
    return cut.kind in {"number", "all inside"} and names[-1].endswith("Id")


def sample(every: Iterable[Case]) -> list[Case]:
    """One case of each kind of place and each way, whatever the story."""
    found: dict[tuple[object, ...], Case] = {}
    for case in every:
        found.setdefault(_kind_of_place(case), case)
    return list(found.values())


def _kind_of_place(case: Case) -> tuple[object, ...]:
    names = [key for key in case.cut.place if isinstance(key, str)]
    return case.form, case.cut.kind, names[0], names[-1]


def faults(chosen: Sequence[Case], folder: Path, asked: Sequence[Sequence[Asking]] | None = None) -> Iterator[str]:
    """What is wrong with the export of these cases, and with the answers of each, one line each. ``asked``: what each
    case is asked; None for all questions of its story.
    """
    rows: list[Json] = []
    for number, case in enumerate(chosen):
        story = FORMS[case.form](STORIES[case.story])
        rows += told([*story[: case.number], case.cut.row, *story[case.number + 1 :]], f"CASE{number}")
    accounts = {story: f"WHOLE{number}" for number, story in enumerate(dict.fromkeys(case.story for case in chosen))}
    for story_name, account in accounts.items():
        rows += told(STORIES[story_name], account)
    out = folder / "out"
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], out, "--force") == 0
    assert exports.report(out)["violations"] == {}
    set_aside = {_account(json.dumps(line)) for line in exports.quarantine(out)}
    graphs, events, asker = _by_account(load(out)), _events_by_account(out), _Asker()
    for number, case in enumerate(chosen):
        account = f"CASE{number}"
        if account in set_aside:
            continue
        graph = graphs[account]
        yield from (f"{case}: {fault}" for fault in _named(graph, events[account]))
        for asking in ASKED[case.story] if asked is None else asked[number]:
            whole = asker.answer(asking, graphs[accounts[case.story]], accounts[case.story])
            if _is_told(whole):
                yield f"{case.story}: {asking} has a note on whole rows"
            told_now = asker.answer(asking, graph, account)
            yield from (f"{case}: {asking} {fault}" for fault in _silent(asking, told_now, whole))


class _Asker:
    """Asks each question of graphs that say the same only once: many cuts leave the same."""

    def __init__(self) -> None:
        self._contents: dict[str, int] = {}
        self._answers: dict[tuple[str, int], Answer] = {}

    def answer(self, asking: Asking, graph: Store, account: str) -> Answer:
        if account not in self._contents:
            self._contents[account] = hash(frozenset(str(quad).replace(account, "") for quad in graph))
        key = json.dumps(asking), self._contents[account]
        if key not in self._answers:
            name, params = asking
            question = find(name)
            check_all(question, params)
            try:
                self._answers[key] = ask(graph, question, params)
            except UsageError as error:  # which asks for the kind, where a row has an id whose kind was cut
                self._answers[key] = Answer([], [], [str(error)])
        return self._answers[key]


def _named(graph: Store, events: list[Json]) -> Iterator[str]:
    if not any(graph.quads_for_pattern(None, NamedNode(INCOMPLETE), None)):
        yield "is not counted"
    for found in sorted({*_named_after_sentinels(graph), *_in_events(events)}):
        yield f"is named after what was cut: {found}"


def _silent(asking: Asking, answer: Answer, whole: Answer) -> Iterator[str]:
    # A name is valid from the first row that has it. That a row that was cut may have had it before is not told.
    columns = 2 if asking[0] == "former-names" else None
    before, after = ({tuple(map(str, row[:columns])) for row in one.rows} for one in (whole, answer))
    if any(TRUNCATED in cell or cell == "-1" for row in after for cell in row):
        yield "has a sentinel"
    if before != after and not _is_told(answer):
        yield f"differs without a note: lost {sorted(before - after)}, added {sorted(after - before)}"


def _is_told(answer: Answer) -> bool:
    return any(NOTE.search(note) for note in answer.notes)


def _account(text: str) -> str:
    found = re.search(r"(?:CASE|WHOLE)\d+", text)
    return "" if found is None else found.group()


def _by_account(graph: Store) -> dict[str, Store]:
    quads = defaultdict(list)
    for quad in graph:
        quads[_account(str(quad.subject))].append(quad)
    found = {account: Store() for account in quads}
    for account, own in quads.items():
        found[account].extend(own)
    return found


def _events_by_account(out: Path) -> dict[str, list[Json]]:
    found = defaultdict(list)
    for line in exports.events(out):
        found[_account(line)].append(json.loads(line))
    return found


def _named_after_sentinels(graph: Store) -> Iterator[str]:
    for quad in graph:
        for term in (quad.subject, quad.object):
            if isinstance(term, NamedNode) and SENTINEL_IN_IRI.search(term.value):
                yield str(term)
        if isinstance(quad.object, Literal) and quad.predicate.value not in RAW:
            text = quad.object.value
            if TRUNCATED in text or text == "-1":
                yield f"{quad.predicate} {text}"


def _in_events(value: Any, path: str = "event") -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name not in RAW_OF_EVENTS and not (name == "value" and path.endswith(".settings")):
                yield from _in_events(part, f"{path}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from _in_events(part, path)
    elif value == -1 or (isinstance(value, str) and (TRUNCATED in value or value == "-1")):
        yield f"{path} {value}"


def _some_for_each(chosen: Sequence[Case]) -> list[list[Asking]]:
    """Two questions for the first case of each kind of cut of a column; of a story, each case has the next ones."""
    each = {case.story: cycle(ASKED[case.story]) for case in chosen}
    firsts = {_kind_of_cut(case): number for number, case in reversed(list(enumerate(chosen)))}.values()
    return [list(islice(each[case.story], 2)) if number in firsts else [] for number, case in enumerate(chosen)]


def _kind_of_cut(case: Case) -> tuple[str, str, str | int]:
    return case.form, case.cut.kind, case.cut.place[0]


def test_no_cut_is_silent(tmp_path: Path) -> None:
    chosen = sample(cases(STORIES))
    assert list(faults(chosen, tmp_path, _some_for_each(chosen))) == []


@cache
def _cases_of(story: str) -> dict[str, Case]:
    return {str(case): case for case in cases([story])}


NOT_NOTED: Final[list[tuple[str, Asking]]] = [
    # That B is there is said by the row that wrote it alone.
    (
        "called, before 2178, row 3: objects_modified (whole column)",
        ("unused-objects", {"since": "2026-09-04"}),
    ),
    # A view is replaced, and comes back by an UNDROP; the rows give its id, and not that it is a view.
    (
        "view, before 2178, row 4: object_modified_by_ddl.objectDomain (text)",
        ("downstream-users", {"object_name": "D.S.A"}),
    ),
    (
        "view, before 2178, row 4: object_modified_by_ddl.objectDomain (text)",
        ("lineage-as-of", {"object_name": "D.S.V", "at": "2026-09-20"}),
    ),
    (
        "view, before 2178, row 7: object_modified_by_ddl.objectDomain (text)",
        ("lineage-as-of", {"object_id": "4", "domain": "View", "at": "2026-09-20"}),
    ),
    # A schema is cloned: the row has its id, and not its name; or nothing.
    (
        "schema-cloned, before 2178, row 3: object_modified_by_ddl.objectName (text)",
        ("downstream-users", {"object_name": "D.S.A"}),
    ),
    (
        "schema-cloned, before 2178, row 3: object_modified_by_ddl (whole column)",
        ("column-lineage", {}),
    ),
    # By its id, too, an object has no data after a DROP.
    (
        "dropped, before 2178, row 6: object_modified_by_ddl (whole column)",
        ("lineage-as-of", {"object_id": "2", "at": "2026-09-20"}),
    ),
    # A schema is dropped: the row has its id, and not its name, by which what is in it ends.
    (
        "dropped, before 2178, row 7: object_modified_by_ddl.objectName (text)",
        ("unused-objects", {"since": "2026-09-04"}),
    ),
    (
        "dropped, before 2178, row 7: object_modified_by_ddl.objectName (text)",
        ("lineage-as-of", {"object_name": "D.S.C", "at": "2026-09-20"}),
    ),
    # A column is renamed, and the row does not say which one.
    (
        "columns-renamed, before 2178, row 2: object_modified_by_ddl.properties.columns.X (key)",
        ("column-copies", {"object_name": "D.S.A", "column_name": "X"}),
    ),
]
"""Cases of which a question knew nothing, though its answer differed."""


def test_answers_that_differed_without_a_note(tmp_path: Path) -> None:
    chosen = [_cases_of(name.partition(",")[0])[name] for name, _ in NOT_NOTED]
    assert list(faults(chosen, tmp_path, [[asking] for _, asking in NOT_NOTED])) == []


if __name__ == "__main__":
    for name in sys.argv[1:] or STORIES:
        with tempfile.TemporaryDirectory() as folder:
            every = list(cases([name]))
            sys.stdout.write(f"{name}: {len(every)} cuts\n")
            for fault in faults(every, Path(folder)):
                sys.stdout.write(f"{fault}\n")
