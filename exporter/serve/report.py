"""A report for stewards as one file of HTML: no scripts, no links, nothing loaded, to be sent by mail or printed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from flask import render_template

from exporter.ask import stores
from exporter.ask.answers import Answer, as_list
from exporter.ask.parameters import instant
from exporter.ask.pool import Pool
from exporter.errors import UsageError
from exporter.publish import result_file
from exporter.serve.overview import COVERAGE, NO_GAP, count_of, day_before, gaps_of, sensitive_tags_sentence
from exporter.serve.server import make
from exporter.serve.site import PAGE_QUESTIONS, Site
from exporter.serve.tables import Part, answered, table
from exporter.system.progress import Progress
from exporter.system.terminal import counted, visible_text

_MOST: Final = 40
"""The most rows of a part; the report says if there are more."""
_MOST_OF_A_KIND: Final = 8
"""The most rows of a kind of change that neither opens nor unmasks data."""
_MOST_COUNTED: Final = 100_000
_MOST_HELPERS: Final = 1_000_000
_MASKS: Final = ("CLEAR", None, "MASKED")
"""What ``agent-reads`` says of a mask, in the order of the report."""
_SECONDS: Final = 300.0
_MORE_TIME: Final = "A later --since asks for less, and exporter query with --timeout gives the question more time."
_DAYS: Final = 30
_STYLE: Final = (Path(__file__).parent / "static" / "style.css").read_text("utf-8")
_TITLES: Final[Mapping[str, tuple[str, str, str]]] = {
    "changes": (
        "What changed",
        "different changes",
        "New readers and copies, tags and policies, objects, columns, grants.",
    ),
    "unmasked-reads": (
        "Unmasked reads",
        "unmasked reads of columns",
        "Who read a column without its mask, before or after it had one.",
    ),
    COVERAGE: ("Sensitive columns without a policy", "sensitive columns without a policy", ""),
    "unmasked-copies": (
        "Copies of masked columns that are read without a mask",
        "copies of masked columns that are read without a mask",
        "At any time on record.",
    ),
    "agent-reads": (
        "Reads by software agents",
        "columns read by agents without a mask",
        "Which agents read which columns. In clear: no masking policy was enforced, also where the column has none.",
    ),
    "unused-objects": ("Unused objects", "unused objects", "Nobody read them in this time."),
    "exposure": (
        "Exposure",
        "objects that grants and shares open",
        "What grants and shares open, at the end of the record.",
    ),
    "page-top-readers": ("Top readers", "users who read", "The users with the most queries that read something."),
}
"""Each part by its question: its title, what its number counts, and what its rows are; of what is tagged without a
policy, the tags that count as sensitive.
"""


class ReportPart(NamedTuple):
    """A part of the report. ``figure``: what its number ``counted`` counts."""

    part: Part
    figure: str
    why: str
    counted: str = ""


def write(
    graph: Path, out: Path, since: str | None, sensitive_tags: tuple[str, ...], say: Callable[[str], None]
) -> None:
    """Writes the report on the export ``graph``. ``since``: the first day or time; by default the start of the day 30
    days before the last query, or the first one. Raises UsageError where the graph, the time or the file cannot be
    used.
    """
    result_file.check(out, _is_report, "a report of exporter report")
    with (
        stores.opened_store(graph, say) as store,
        closing(Pool(store, PAGE_QUESTIONS, 1, _SECONDS)) as pool,
        closing(Site(graph, pool, pool, sensitive_tags=sensitive_tags)) as site,
        make(site, "127.0.0.1").test_request_context(),
        Progress().stage("writing the report"),
    ):
        text = _text(site, since)
    result_file.save(out, text)


def _is_report(data: bytes) -> bool:
    """Whether a file begins as a report does."""
    return b'<meta name="generator" content="exporter report">' in data[:1000]


def _text(site: Site, since: str | None) -> str:
    last = instant("until", site.last) if site.last else datetime.now(UTC)
    first = instant("since", site.first) if site.first else last
    start = instant("since", since) if since else max(first, instant("since", day_before(last, _DAYS)))
    if start > last and site.last:
        raise UsageError(f"--since {since}: the record ends at {site.last}, so there is nothing to report")
    period = {
        "since": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "until": f"{last + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}",
    }
    since_alone = {"since": period["since"]}
    params = {
        "changes": period, "unmasked-reads": period, "agent-reads": period, "unused-objects": since_alone,
        "page-top-readers": period,
    }  # fmt: skip
    parts = [_part(site, question, params.get(question, {})) for question in _TITLES]
    made_at = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    html = render_template(
        "report.html", parts=parts, common=_common_notes(parts), since=start, until=last, made=made_at, style=_STYLE,
        most=_MOST,
    )  # fmt: skip
    return visible_text(html)


def _common_notes(parts: Sequence[ReportPart]) -> dict[str, tuple[int, list[str]]]:
    """The notes that several parts have -> their number, and the titles of these parts."""
    titles = defaultdict[str, list[str]](list)
    for part, *_ in parts:
        for note in part.table.notes if part.table else ():
            titles[note].append(part.title)
    common = [note for note, its in titles.items() if len(its) > 1]
    return {note: (number, titles[note]) for number, note in enumerate(common, 1)}


def _of_people(site: Site, answer: Answer) -> tuple[Answer, int]:
    """What changed without what loads repeat, the latest first: one row for what a user did again and again to the same
    column, or to objects that had the same name one after the other, with the number of ``times``. And how many changes
    of helpers are left out; those that open or unmask data are not.
    """
    helpers = {row["object_iri"] for row in site.rows("page-helpers", most=_MOST_HELPERS)}
    times = Counter[tuple[str | None, ...]]()
    latest: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}
    left_out = 0
    for cells, row in reversed(list(zip(answer.rows, answer.dicts(), strict=True))):  # in the order of time
        iris = (row["object_iri"] or "").split(" ")
        if _urgency(row["change"] or "") > 0 and helpers.issuperset(iris):
            left_out += 1
            continue
        key = row["change"], row["object_name"], row["column_name"], row["user_name"], site.account_of(iris[0])
        times[key] += 1
        latest.setdefault(key, cells)
    rows = [(*cells, str(times[key])) for key, cells in latest.items()]
    return replace(answer, columns=(*answer.columns, "times"), rows=rows), left_out


def _urgent_first(why: str, answer: Answer) -> tuple[str, Answer]:
    """What changed, by kinds of change: the most urgent first, of equal ones the rarest. A policy that was unset is not
    to be lost among the copies of every night. Of a kind that opens or unmasks data there are up to as many rows as in
    any part, of others a handful. And of each kind, in words, how many there are and how many of them are shown.
    """
    position = answer.columns.index("change")
    of_kind: dict[str, list[tuple[str | None, ...]]] = defaultdict(list)
    for row in answer.rows:
        of_kind[row[position] or ""].append(row)
    order = sorted(of_kind, key=lambda kind: (_urgency(kind), len(of_kind[kind]), kind))
    shown = {kind: of_kind[kind][: _MOST if _urgency(kind) == 0 else _MOST_OF_A_KIND] for kind in order}
    counts = [
        f"{kind} ({len(of_kind[kind]):,})"
        if len(shown[kind]) == len(of_kind[kind])
        else f"{kind} ({len(shown[kind])} of {len(of_kind[kind]):,})"
        for kind in order
    ]
    words = (
        "First what opens or unmasks data, then what closes or masks it, then drops, then the rest, each with the"
        " rarest first; of most kinds the latest few. What a user did again to the same name counts once: its row has"
        " the latest time, and how many times it was"
    )
    return (
        f"{why} {words}: {', '.join(counts)}." if counts else why,
        replace(answer, rows=[row for rows in shown.values() for row in rows]),
    )


def _on_helpers(left_out: int) -> str:
    """The sentence that counts the changes of helpers that are left out; empty where there are none."""
    of_helpers = "of helpers (what loads fill, read and drop)"
    changes = counted(left_out, f"change {of_helpers} is", f"changes {of_helpers} are")
    return f" {changes} left out." if left_out else ""


def _urgency(kind: str) -> int:
    """0 of a change that opens or unmasks data, 1 of one that closes or masks it, 2 of a drop, 3 of others."""
    if kind.endswith((" unset", "grant made", " body changed")):
        return 0
    return 1 if kind.endswith((" set", "grant revoked")) else 2 if "dropped" in kind else 3


def _by_agent(answer: Answer) -> tuple[str, Answer]:
    """How many columns agents read without a mask, and what agents read: a row for each agent, column and mask, with
    its number of queries. First what was read without a mask, then that of which rows do not tell.
    """
    queries: dict[tuple[str | None, ...], set[str | None]] = defaultdict(set)  # with reads by day without ids
    last: dict[tuple[str | None, ...], str] = {}
    for row in answer.dicts():
        agent = row["agent_name"] or as_list([row["agent_type"] or ""])
        key = agent, row["object_name"], row["column_name"], row["mask"]
        queries[key].add(row["query_id"])
        last[key] = row["query_start_time"] or ""  # rows are in the order of time
    order = sorted(queries, key=lambda key: (_MASKS.index(key[3]), -len(queries[key]), str(key)))
    columns = ("agent_name", "object_name", "column_name", "mask", "queries", "last_read")
    rows = [(*key, None if None in queries[key] else str(len(queries[key])), last[key]) for key in order]
    in_clear = {key[1:3] for key in order if key[3] == "CLEAR"}
    return f"{len(in_clear):,}", replace(answer, columns=columns, rows=rows)


def _part(site: Site, question: str, params: Mapping[str, str]) -> ReportPart:
    title, figure, why = _TITLES[question]
    if question == COVERAGE:
        why = sensitive_tags_sentence(site)
    answer = answered(lambda: site.ask(question, params, _MOST_COUNTED), _MORE_TIME)
    if isinstance(answer, str):
        return ReportPart(Part(title, question, None, answer), figure, why)
    more = " or more" if len(answer.rows) == _MOST_COUNTED else ""
    if question == COVERAGE:
        answer = gaps_of(site, answer, sensitive=True)
        answer = replace(answer, notes=[] if answer.rows else answer.notes)
    number, most = f"{count_of(question, answer):,}{more}", _MOST
    if question == "changes":
        answer, left_out = _of_people(site, answer)
        number = f"{len(answer.rows):,}{more}"
        why, answer = _urgent_first(why, answer)
        why += _on_helpers(left_out)
        most = len(answer.rows)
    if question == "agent-reads":
        number, answer = _by_agent(answer)
    words = site.no_row(NO_GAP if question == COVERAGE else "shows one", params.get("since"))
    part = Part(title, question, table(site, answer, most, "more"), words)
    return ReportPart(part, figure, why, number)
