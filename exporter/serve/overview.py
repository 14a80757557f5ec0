"""Where a person begins: the first page, the search, what is tagged without a policy, and lists of all there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Blueprint, abort, redirect, render_template, request, url_for

from exporter.ask.answers import Answer, listed, with_rows
from exporter.ask.names import nearest
from exporter.ask.parameters import instant
from exporter.errors import ExporterError
from exporter.serve.protocol import status_and_headers, url_parameters
from exporter.serve.site import Row, Site, is_cut
from exporter.serve.tables import Part, Table, answered, ask_href, name_parts, not_ready, table, tag_and_value

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

_WAIT: Final = 1.0
"""Seconds that the first page waits for each of its answers."""
_WAIT_FOR_ONE: Final = 1.5
"""Seconds that a page with one answer waits for it."""
_FEW: Final = 5
"""Rows of each answer that the first page shows."""
_MOST_NAMES: Final = 100_000
_LONGEST: Final = 500
"""The most characters of a search."""
_UNUSED_DAYS: Final = 14
_CHANGED_DAYS: Final = 7
SENSITIVE: Final = ("*PII*", "*GDPR*", "*PHI*", "*SENSITIVE*")
"""Names of tags that need a policy, in any letter case, where ``serve.sensitive_tags`` gives none. In addition, by
default: the tags on which a masking policy was ever set.
"""
COVERAGE: Final = "policy-coverage"
"""The question whose answer has what is tagged without a policy. A tag that says who owns a table needs none."""
NO_GAP: Final = "sets such a tag on what no policy covers at the end of the record"
"""What no row of the record does if nothing is tagged without a policy."""
_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "unmasked-copies": ("target_object_name", "target_column_name"),
    "exposure": ("object_name", "domain"),
}
"""What is counted of an answer that has several rows for it, by its columns: a copy has a row for each source."""


@dataclass(frozen=True)
class Topic:
    """A topic of the first page: a question about the last days on record."""

    title: str
    why: str
    question: str
    since_days: int | None = None


TOPICS: Final = (
    Topic(
        "Masked columns that were read unmasked",
        "Who read a column without its mask, before or after it had one.",
        "unmasked-reads",
    ),
    Topic(
        "Copies of masked columns that are read without a mask",
        "Data left the protected column, and no masking policy was on the copy.",
        "unmasked-copies",
    ),
    Topic(
        "Sensitive columns without a policy",
        "They have a sensitive tag, and no policy masks or filters them.",
        COVERAGE,
    ),
    Topic(
        "What changed in the last week on record",
        "New readers and copies, tags and policies, objects, columns, grants and revokes.",
        "changes",
        _CHANGED_DAYS,
    ),
    Topic(
        f"Objects that nobody read in the last {_UNUSED_DAYS} days on record",
        "They may be old, or forgotten copies.",
        "unused-objects",
        _UNUSED_DAYS,
    ),
)


def overview(site: Site) -> Blueprint:
    """``/``, ``/search`` and ``/gaps``."""
    routes = Blueprint("pages", __name__)

    @routes.get("/")
    @url_parameters()
    def home() -> str:
        return render_template("home.html", topics=[(topic.why, _topic_part(site, topic)) for topic in TOPICS])

    @routes.get("/search")
    @url_parameters("q")
    def search() -> ResponseReturnValue:
        text = request.args.get("q", "").strip()[:_LONGEST]
        if not text:
            return redirect(url_for("pages.home"))
        answer = site.ask("page-search", {"text": text})
        similar, notes = ([], []) if answer.rows else (_nearest_names(site, text), site.on_pseudonyms(text))
        groups = list(_by_kind(site, answer))
        return render_template(
            "search.html", text=text, groups=groups, is_cut=is_cut(answer), similar=similar, notes=notes
        )

    @routes.get("/gaps")
    @url_parameters()
    def gaps() -> str:
        sensitive = sensitive_tags_sentence(site)
        answer = answered(lambda: site.ask_in_background(COVERAGE, {}, _WAIT_FOR_ONE))
        if isinstance(answer, str):
            return render_template("gaps.html", sensitive=sensitive, problem=answer)
        gap_tables = {
            title: table(site, replace(gaps_of(site, answer, sensitive=is_sensitive), notes=[]))
            for title, is_sensitive in (("Sensitive", True), ("Other tags", False))
        }
        return render_template(
            "gaps.html", sensitive=sensitive, gap_tables=gap_tables, notes=answer.notes, empty=site.no_row(NO_GAP)
        )

    return routes


# --- the first page ---------------------------------------------------------------------------------------------------


def ask_ahead(site: Site) -> None:
    """Asks the questions of the first page in the background, so that the first visitor does not wait."""
    with suppress(ExporterError, RuntimeError):  # RuntimeError: the server is stopped meanwhile
        for topic in TOPICS:
            with suppress(TimeoutError):
                site.ask_in_background(topic.question, _params(site, topic), 0)


def _topic_part(site: Site, topic: Topic) -> Part:
    """The part of the first page about a topic."""
    params = _params(site, topic)
    is_of_gaps = topic.question == COVERAGE

    def ask() -> Answer:
        answer = site.ask_in_background(topic.question, params, _WAIT)
        return gaps_of(site, answer, sensitive=True) if is_of_gaps else answer

    more = url_for("pages.gaps") if is_of_gaps else ask_href(topic.question, params)
    answer = answered(ask)
    if isinstance(answer, str):
        return Part(topic.title, topic.question, None, answer, more)
    shown = replace(table(site, answer, _FEW, more), count=count_of(topic.question, answer))
    words = site.no_row(NO_GAP if is_of_gaps else "shows one", params.get("since"))
    return Part(topic.title, topic.question, shown, words, more)


def count_of(question: str, answer: Answer) -> int:
    """How many there are of what a question is about: its rows, or different values of what is counted."""
    columns = [answer.columns.index(column) for column in _COUNTED.get(question, ())]
    return len({tuple(row[column] for column in columns) for row in answer.rows}) if columns else len(answer.rows)


def _params(site: Site, topic: Topic) -> dict[str, str]:
    if topic.since_days is None or site.last is None:
        return {}
    end = instant("until", site.last)
    params = {"since": day_before(end, topic.since_days)}
    if topic.question == "changes":
        params["until"] = f"{end + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
    return params


def day_before(end: datetime, days: int) -> str:
    """The start (UTC) of the day that many days before a time, as the beginning of a period that is shown in days."""
    return f"{end - timedelta(days=days):%Y-%m-%dT00:00:00Z}"


# --- what is tagged without a policy ----------------------------------------------------------------------------------


def gaps_of(site: Site, answer: Answer, *, sensitive: bool) -> Answer:
    """The rows of ``policy-coverage`` without a policy that have a sensitive tag, or only others."""

    def is_gap(row: Row) -> bool:
        names = {tag_and_value(tag)[0] for tag in listed(row["tags"])}
        return not row["policies"] and any(is_sensitive(site, name) for name in names) == sensitive

    return with_rows(answer, (row for row in answer.dicts() if is_gap(row)))


def is_sensitive(site: Site, tag: str) -> bool:
    """Whether a tag needs a policy: by the last part of its name, or by all of it where the pattern has a dot."""
    patterns = site.sensitive_tags or SENSITIVE
    last = name_parts(tag)[-1].strip('"').upper()
    is_named = any(fnmatchcase(tag.upper() if "." in pattern else last, pattern.upper()) for pattern in patterns)
    return is_named or (not site.sensitive_tags and tag in _masked_tags(site))


def _masked_tags(site: Site) -> set[str | None]:
    """The tags on which a masking policy was ever set."""
    return {row["object_name"] for row in site.rows("page-masked-tags", most=10_000)}


def sensitive_tags_sentence(site: Site) -> str:
    """Which tags count as sensitive, in words."""
    patterns = f"with a name like {', '.join(site.sensitive_tags or SENSITIVE)}"
    return f"Tags {patterns}" + ("." if site.sensitive_tags else ", and those on which a masking policy was ever set.")


# --- the search -------------------------------------------------------------------------------------------------------


def _by_kind(site: Site, answer: Answer) -> Iterator[tuple[str, Table]]:
    """The results of a search, grouped by kind; an object appears once, with the names by which it was found."""
    rows = answer.dicts()
    names: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for row in rows:
        if row["kind"] not in ("Column", "User", "Software Agent", "Query", "SQL"):
            name, match = row["object_name"], row["found"]
            names[name or match, row["object_iri"], row["kind"]] += [match] if match and match != name else []
    objects: dict[str, list[tuple[str | None, ...]]] = {"Objects": [], "Tags": [], "Policies": []}
    for (name, iri, kind), other_names in names.items():
        group = "Tags" if kind == "Tag" else "Policies" if (kind or "").endswith(" Policy") else "Objects"
        objects[group].append((name, iri, kind, ", ".join(other_names)))
    for title, found_objects in objects.items():
        if found_objects:
            named = Answer(("object_name", "object_iri", "kind", "also_found_as"), found_objects)
            yield title, table(site, site.with_accounts(named))
    for title, kind, *columns in (
        ("Columns", "Column", "column_name", "object_name", "object_iri"),
        ("Users", "User", "user_name"),
        ("Software agents", "Software Agent", "software_agent", "found"),
        ("Queries", "Query", "query_id"),
        ("SQL", "SQL", "query_id", "found"),
    ):
        if cells := [tuple(row[column] for column in columns) for row in rows if row["kind"] == kind]:
            yield title, table(site, site.with_accounts(Answer(tuple(columns), cells)))


def _nearest_names(site: Site, text: str) -> list[str]:
    """The names of objects, columns, users and software agents that are most similar to a text, of objects also by
    their last part.
    """
    names = [row["name"] or "" for row in site.rows("page-known", most=_MOST_NAMES)]
    return nearest(text, dict.fromkeys([*names, *(name_parts(name)[-1] for name in names)]))


# --- lists ------------------------------------------------------------------------------------------------------------

_MOST_SCHEMAS: Final = 20_000


class Filter(NamedTuple):
    """A filter field of a list: the parameter, the label, and the type of the input."""

    name: str
    label: str
    kind: str = "search"


_OF_NAME: Final = (Filter("text", "Part of the name"),)
_OF_QUERIES: Final = (
    Filter("text", "Part of the id, or of the SQL where it was kept"),
    Filter("user", "User"),
    Filter("type", "Type, such as INSERT"),
    Filter("since", "Since", "date"),
    Filter("until", "Until", "date"),
)
_NAMES_OF_NAME: Final = tuple(field.name for field in _OF_NAME)
_NAMES_OF_QUERIES: Final = tuple(field.name for field in _OF_QUERIES)
_CANNOT_FIND: Final = {"type": "Only queries with a line of QUERY_HISTORY have a type."}
"""What a filter cannot find."""


def browse(site: Site) -> Blueprint:
    """``/browse`` and the lists below it."""
    routes = Blueprint("browse", __name__, url_prefix="/browse")
    listed = partial(_listed, site)

    @routes.get("/")
    @url_parameters()
    def tree() -> str:
        databases = defaultdict[str, list["Row"]](list)
        for row in site.rows("page-tree", most=_MOST_SCHEMAS):
            databases[row["database_name"] or row["schema_name"] or ""].append(row)
        kinds = [row for row in site.rows("page-kinds") if row["kind"] not in ("Database", "Schema")]
        return render_template("tree.html", databases=databases, kinds=kinds)

    @routes.get("/schema")
    @url_parameters("id", *_NAMES_OF_NAME)
    def schema() -> ResponseReturnValue:
        thing = site.thing(site.iri(request.args.get("id", "")))
        if thing is None:
            abort(404)
        return listed(f"Objects in {thing.name or thing.iri}", "page-objects", _OF_NAME, {"schema": thing.iri})

    @routes.get("/objects")
    @url_parameters(*_NAMES_OF_NAME, repeated=("kind",))
    def objects() -> ResponseReturnValue:
        kinds = request.args.getlist("kind")
        title = f"Objects: {', '.join(kinds)}" if kinds else "All objects"
        return listed(title, "page-objects", _OF_NAME, {"kind": kinds} if kinds else {})

    @routes.get("/users")
    @url_parameters(*_NAMES_OF_NAME)
    def users() -> ResponseReturnValue:
        return listed("Users", "page-users", _OF_NAME, {})

    @routes.get("/queries")
    @url_parameters(*_NAMES_OF_QUERIES)
    def queries() -> ResponseReturnValue:
        return listed("Queries", "page-queries", _OF_QUERIES, {})

    @routes.app_template_global()
    def policies_href() -> str:
        """The list of policies: all kinds of them that there are."""
        kinds = [row["kind"] for row in site.rows("page-kinds") if (row["kind"] or "").endswith(" Policy")]
        return url_for("browse.objects", kind=kinds or ["Masking Policy", "Row Access Policy"])

    return routes


def _listed(
    site: Site, title: str, question: str, filters: Sequence[Filter], fixed: Mapping[str, str | Sequence[str]]
) -> ResponseReturnValue:
    """A list with its filters; ``fixed``: parameters that no filter sets. A list without rows says which filters there
    are, and what they cannot find.
    """
    values = {field.name: request.args.get(field.name, "") for field in filters}
    given = {name: value for name, value in values.items() if value}
    empty = site.no_row("shows one")
    if given:
        set_filters = "; ".join(f"{field.label} = {given[field.name]}" for field in filters if field.name in given)
        unknown = [_CANNOT_FIND[name] for name in given if name in _CANNOT_FIND]
        empty = " ".join([f"{empty[:-1]} with these filters: {set_filters}.", *unknown])
    page = partial(
        render_template,
        "list.html",
        title=title,
        filters=[(field, values[field.name]) for field in filters],
        other_fields=[(name, value) for name, value in request.args.items(multi=True) if name not in values],
        empty=empty,
    )
    try:
        answer = site.ask_in_background(question, {**fixed, **given}, _WAIT_FOR_ONE, of_form=True)
    except TimeoutError:
        return page(problem=not_ready())
    except ExporterError as error:
        return page(problem=error), *status_and_headers(error)
    notes = answer.notes if answer.rows else [empty, *answer.notes]
    return page(answer=table(site, replace(answer, notes=notes)))
