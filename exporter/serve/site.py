"""What all pages share: the export that they show, and the processes that answer their questions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from exporter.ask import stores
from exporter.ask.answers import Answer, with_rows
from exporter.ask.lookups import TABLE_STAGE
from exporter.ask.names import PSEUDONYMS
from exporter.ask.notes.container_changes import UNLISTED
from exporter.ask.notes.left_out import QUERIES_OF_USERS, SINGLE_READS, has_no_single_reads, left_out, settings_of
from exporter.ask.parameters import instant
from exporter.ask.questions import Question, questions
from exporter.errors import ExporterError
from exporter.graph.iri import Iris
from exporter.graph.nodes.agents import owner
from exporter.model.identifiers import match_name
from exporter.model.other_accounts import account_in, is_unnamed
from exporter.serve.background import BackgroundAnswers

if TYPE_CHECKING:
    from exporter.ask.pool import Pool

Params = Mapping[str, str | Sequence[str]]
Row = dict[str, str | None]

_BACKGROUND_THREADS: Final = 2
"""How many long questions run at once; fewer than there are processes, so that pages always find a free one."""
_NONE: Final[Mapping[str, str]] = {}
_SHARING_NAMES: Final = frozenset({"Table", "View"})
"""Kinds that share their names."""
SHORT_QUERIES_MISSING: Final = (
    "This is a hybrid table. Rows of ACCESS_HISTORY do not have short queries on it: unless those of "
    "AGGREGATE_ACCESS_HISTORY were exported too, its readers and writers can be incomplete."
)
SHORT_QUERIES_COUNTED: Final = (
    "This is a hybrid table. Its short queries are added up by user and interval (AGGREGATE_ACCESS_HISTORY): they "
    "count among its readers and writers with the number of calls, and have no query id."
)
PROVIDER: Final = "a provider's account"
"""Stands for the account of a provider of shared data that rows do not name."""
PAGE_QUESTIONS: Final = Path(__file__).parent / "page_queries"
"""The questions that only pages ask, in addition to the shipped ones."""
VIEW_KINDS: Final = frozenset({"VIEW", "STREAM", "SEMANTIC VIEW"})
"""Kinds of objects that show data of others, in upper case."""
GRANTEE_KINDS: Final = frozenset({"SHARE", "ROLE", "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE"})
"""Kinds of objects that hold no data, but what was granted to them, in upper case."""
GRANTED: Final = "grants anything to it; what was granted before the record is not known"
"""What no row does where nothing was granted to one."""
NO_DATA: Final = "This {} has no data of its own"
"""Begins the sentence in place of a lineage of such an object, which goes on with where what was granted to it is."""
MOST_ROWS: Final = 500
"""The most rows of a table on a page."""
_MOST_TOGETHER: Final = 10_000
"""The most rows of several objects of one name, before they are put together."""
CUT: Final = " --max-rows"
"""Where the advice for the command line begins in a note of :mod:`exporter.ask.questions` on rows that are left out."""

QUERY_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "read": ("Read", "page-query-reads"),
    "wrote": ("Wrote", "page-query-writes"),
    "filled": ("Columns that it filled", "page-query-derivations"),
    "changes": ("Made, changed or dropped", "page-query-changes"),
    "policies": ("Policies that were enforced", "page-query-policies"),
    "joins": ("Joins", "page-query-joins"),
    "statements": ("Statements that are part of it", "page-query-children"),
}
"""What a query did: name of the part -> its title, and the question that it answers."""


def cut(answer: Answer) -> Answer:
    """An answer with as many rows as a table of a page has, and a note if there are more."""
    if len(answer.rows) <= MOST_ROWS:
        return answer
    notes = [*answer.notes, f"There are more rows than {MOST_ROWS}; these are the first ones.{CUT}"]
    return Answer(answer.columns, answer.rows[:MOST_ROWS], notes)


def is_cut(answer: Answer) -> bool:
    """Whether there are more rows than the answer has."""
    return any(CUT in note for note in answer.notes)


def solutions(body: bytes, yes: str = "true", no: str = "false") -> Answer:
    """A result in SPARQL's JSON as a table; ``yes`` and ``no``: the answer to an ASK."""
    result = json.loads(body)
    if "boolean" in result:
        return Answer(("answer",), [(yes if result["boolean"] else no,)])
    columns = tuple(result["head"]["vars"])
    rows = [tuple(_value(binding.get(column)) for column in columns) for binding in result["results"]["bindings"]]
    return Answer(columns, rows)


def _value(term: Mapping[str, Any] | None) -> str | None:
    """The text of a term: of a triple as JSON, None where nothing is bound."""
    value = term and term["value"]
    return value if value is None or isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class SiteObject:
    """An object as its page shows it. ``id``: Snowflake's; ``name``: its last one. Each is None where no row shows
    it. ``account``: that it is of, where objects of several are shown; else empty.
    """

    iri: str
    kind: str
    name: str | None
    id: str | None
    account: str = ""

    @property
    def of_account(self) -> str:
        """`` of the account ACME-PROV``, `` of a provider's account``; empty where the account says nothing."""
        article = "" if self.account in {"", PROVIDER} else "the account "
        return f" of {article}{self.account}" if self.account else ""


@dataclass(frozen=True)
class PageSubject:
    """What a page is about. ``thing``: one object; ``name``: the name that it was asked for by, if others of its kind
    had this name, too, and the page is of all of them; else empty; ``since``: when ``thing`` got it; ``until``: the
    IRIs of all, each with the time when it lost the name, None for what has it; ``kinds``: of all.
    """

    thing: SiteObject
    name: str = ""
    since: str = ""
    until: Mapping[str, str | None] = field(default_factory=dict)
    kinds: AbstractSet[str] = frozenset()

    @property
    def iris(self) -> list[str]:
        """The IRIs of the objects."""
        return list(self.until) or [self.thing.iri]

    @property
    def params(self) -> dict[str, str | list[str]]:
        """The parameters of a question of the pages: the objects, and the name until the end of which they count."""
        return {"object": self.iris, **({"match_name": match_name(self.name)} if self.name else {})}

    @property
    def most(self) -> int:
        """The most rows of a question whose rows on several objects become one."""
        return _MOST_TOGETHER if self.name else MOST_ROWS


class Site:
    """The pages of the export at ``graph``. ``pages`` answers their questions, ``background`` those that may take long,
    ``sparql`` the queries that people write, and ``health`` only whether queries are answered. ``on_queries``:
    what a number of queries lacks, and a query that is not found. ``sensitive_tags``: patterns for the names of tags
    that need a policy; by default :data:`exporter.serve.overview.SENSITIVE`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the processes, and a setting
        self,
        graph: Path,
        pages: Pool,
        sparql: Pool,
        background: Pool | None = None,
        health: Pool | None = None,
        sensitive_tags: Sequence[str] = (),
    ) -> None:
        self.graph = graph
        self.sensitive_tags = tuple(sensitive_tags)
        self.name = graph.resolve().name
        self.base = _base(graph)
        self.left_out = left_out(graph)
        self.on_queries = [SINGLE_READS] if has_no_single_reads(graph) else []
        self.on_users = [QUERIES_OF_USERS] if has_no_single_reads(graph) else []
        self.sparql = sparql
        self.health = health or pages
        self._pages = pages
        self._background_pool = background or pages
        self._key = stores.key(graph)
        self._background = BackgroundAnswers(_BACKGROUND_THREADS, keeps_errors=True)
        # One of the two processes for pages stays free of questions from forms. Who sends one again wants another try.
        self._forms = BackgroundAnswers(1, keeps_errors=False)
        self.questions: Mapping[str, Question] = {question.name: question for question in questions()}

    def ask(self, question: str, params: Params = _NONE, rows: int = MOST_ROWS, *, of_page: bool = True) -> Answer:
        """The answer to a shipped question, or to one of the pages' own. ``of_page``: with columns for links."""
        return self._pages.answer(question, _values(params), rows, of_page=of_page)

    def params_for(self, question: str, shown: PageSubject) -> dict[str, str | list[str]] | None:
        """The parameters by which a question finds what a page is about in the form of the question: the name of
        several objects, the id of one, else its name; None where it takes neither.
        """
        thing, parameter_names = shown.thing, {parameter.name for parameter in self.questions[question].parameters}
        if shown.name and "object_name" in parameter_names:
            is_shared = "domain" in parameter_names and thing.kind in _SHARING_NAMES
            kinds = {"domain": sorted(shown.kinds)} if is_shared else {}
            return {"object_name": shown.name, **kinds}
        domain = {"domain": thing.kind} if "domain" in parameter_names else {}
        if thing.id is not None and "object_id" in parameter_names:
            return {"object_id": thing.id, **domain}
        if thing.name is not None and "object_name" in parameter_names:
            return {"object_name": thing.name, **domain}
        return None

    def path(self, iri: str) -> str:
        """An IRI as addresses show it: without the base of the graph."""
        return iri.removeprefix(self.base) if self.base else iri

    def iri(self, path: str) -> str:
        """The IRI of a path in an address; the reverse of :meth:`path`."""
        return path if "://" in path else self.base + path

    def thing(self, iri: str) -> SiteObject | None:
        """An object; None where the graph has none with this IRI."""
        row = next(iter(self.rows("page-object", {"object": iri})), None)
        if row is None:
            return None
        return SiteObject(
            iri, row["kind"] or "", row["object_name"] or row["location"], row["id"], self.account_of(iri)
        )

    @cached_property
    def places(self) -> Mapping[str, str]:
        """What the IRIs of the objects of an account begin with -> the account."""
        exported = str(settings_of(self.graph).get("account") or "")
        accounts = [row["account"] or "" for row in self.rows("page-accounts")]
        below = {account: Iris(account, exported, self.base or "snowflake://").below for account in accounts}
        return {path if "://" in path else self.base + path: account for account, path in below.items()}

    def account_of(self, iri: str) -> str:
        """The account of an object, in a graph of several, or of an object that is not of the account whose rows name
        it; else empty.
        """
        return self.other_account(iri) or (self._account_of_rows(iri) if len(self.places) > 1 else "")

    def other_account(self, iri: str) -> str:
        """The account of an object that is not of the account whose rows name it, :data:`PROVIDER` where they do not
        say which; else empty.
        """
        name = unquote(account_in(iri.rpartition("/")[2])[1:])
        if not name or is_unnamed(name):
            return name and PROVIDER
        return owner(name, self._account_of_rows(iri)) or name

    def _account_of_rows(self, iri: str) -> str:
        """The account whose rows name an object. Places can be within each other."""
        within = [place for place in self.places if iri.startswith(place)]
        return self.places[max(within, key=len)] if within else ""

    def with_accounts(self, answer: Answer, *, of_others: bool = False) -> Answer:
        """An answer with the IRIs of objects; with a column of their account in a graph of several, or where one of the
        objects is not of the account whose rows name it. ``of_others``: only there.
        """
        if "object_iri" not in answer.columns:
            return answer
        position = answer.columns.index("object_iri")
        iris = [row[position] or "" for row in answer.rows]
        if not any(map(self.other_account, iris)) and (of_others or len(self.places) < 2):
            return answer
        accounts = [(self.account_of(iri) or self._account_of_rows(iri)) or None for iri in iris]
        rows = [(*row, account) for row, account in zip(answer.rows, accounts, strict=True)]
        return Answer((*answer.columns, "account"), rows, answer.notes)

    def of_path(self, path: str) -> Answer:
        """The objects with a path in all accounts: paths are those of the exported account, and others have it below
        their own.
        """
        things = [thing for place in self.places if (thing := self.thing(place + path))] if "://" not in path else []
        rows: list[tuple[str | None, ...]] = [(thing.iri, thing.kind, thing.id, thing.name) for thing in things]
        return self.with_accounts(Answer(("object_iri", "kind", "id", "object_name"), rows))

    def ask_in_background(  # noqa: PLR0913 - a question, and how long it is waited for
        self,
        question: str,
        params: Params,
        wait: float,
        *,
        until: float = inf,
        of_form: bool = False,
        things: Sequence[str] = (),
    ) -> Answer:
        """The answer to a question that may take long. It is asked in the background, and its answer or error is
        cached; one that ran out of time is asked again by a later visit. Raises TimeoutError where there is no answer
        ``wait`` seconds after it was first asked, or at the time ``until`` (:func:`time.monotonic`). ``of_form``: the
        user asks it by itself, so it comes before those, and its error is not cached. ``things``: the IRIs of the
        objects that it is about.
        """
        key = question, *things, *sorted((name, str(value)) for name, value in params.items())
        pool = self._pages if of_form else self._background_pool
        values, iris = _values(params), tuple(things)
        ask = partial(pool.answer, question, values, MOST_ROWS, of_page=True, things=iris)
        return (self._forms if of_form else self._background).answer(key, ask, wait, until)

    def close(self) -> None:
        """Stops asking questions in the background."""
        for questions_asked in (self._background, self._forms):
            questions_asked.close()

    def rows(self, question: str, params: Params = _NONE, most: int = MOST_ROWS) -> list[Row]:
        """The rows of an answer, each by column."""
        return self.ask(question, params, most).dicts()

    def by_name(self, name: str) -> tuple[SiteObject | None, Answer]:
        """The object that has a name or had it last, or the location with this URL, None where there is none; and the
        rows of the others that had it. The stage of a user comes before those of users that differ in letter case, an
        object of the account whose rows name it before those of others, a table before its own stage.
        """
        answer = self.ask("page-named", {"object_name": name, "location": name})
        rows = sorted(
            answer.rows,
            key=lambda row: (not _has(name, row[3]), bool(self.other_account(str(row[0]))), row[1] == TABLE_STAGE),
        )
        answer = replace(answer, rows=rows)
        iris = [str(row[0]) for row in answer.rows]
        if not iris:
            return None, answer
        others = [row for row in answer.rows if row[0] != iris[0]]
        return self.thing(iris[0]), self.with_accounts(Answer(answer.columns, others))

    def find(self, path: str | None, name: str) -> tuple[SiteObject | None, Answer]:
        """The object with an IRI or its path, else that with a name; None where there is none. And the others that had
        the name, or one of its names.
        """
        if not path:
            return self.by_name(name)
        thing = self.thing(self.iri(path))
        return thing, Answer((), []) if thing is None else self.namesakes(thing)

    def subject(self, thing: SiteObject, name: str) -> PageSubject:
        """What the page of a name is about that an object has or had: all that had it of its kind and account, tables
        and views together, those first that have it.
        """
        ends: dict[str, list[str | None]] = {}
        kinds, since, spelled = set[str](), "", name
        for row in self.rows("page-named", {"object_name": name}) if name else ():
            iri = row["object_iri"] or ""
            is_alike = iri == thing.iri or (
                row["kind"] in _kinds_sharing_names(thing)
                and _has(name, row["known_name"])
                and self.other_account(iri) == self.other_account(thing.iri)
                and self._account_of_rows(iri) == self._account_of_rows(thing.iri)
            )
            if is_alike:
                ends.setdefault(iri, []).append(row["valid_until"])
                kinds.add(row["kind"] or "")
                if iri == thing.iri and not since:
                    since, spelled = row["valid_from"] or "", row["known_name"] or name
        if len(ends) < 2:
            return PageSubject(thing)
        latest = partial(max, key=partial(instant, "valid_until"))
        until = {iri: None if None in times else latest(times) for iri, times in ends.items()}
        return PageSubject(thing, spelled, since, until, kinds)

    def column_of(self, thing: SiteObject, name: str) -> tuple[str | None, list[Row]]:
        """A column of an object as rows spell it, None where they have none; and the rows of ``page-columns``: all
        columns that it has or had. ``name``: letter case matters in quotes, or where columns differ only in that.
        """
        rows = self.rows("page-columns", {"object": thing.iri}, 10_000)
        columns = [row["column_name"] or "" for row in rows]
        if name in columns:
            return name, rows
        spelling = name[1:-1].replace('""', '"') if name[:1] == name[-1:] == '"' else None
        same_name = [
            column for column in columns if (column == spelling if spelling else column.upper() == name.upper())
        ]
        return next(iter(same_name), None), rows

    def with_policies(self, thing: SiteObject, columns: Answer, wait: float, until: float = inf) -> Answer:
        """The columns of an object (``page-columns``) with the policies that cover them, also through tags. Raises
        TimeoutError as :meth:`ask_in_background`.
        """
        question = "policy-coverage"
        given = self.params_for(question, PageSubject(thing))
        if given is None or not columns.rows:
            return columns
        by_iri = {name: value for name, value in given.items() if name != "object_name"}  # others may have the name
        covered = self.ask_in_background(question, by_iri, wait, until=until, things=[thing.iri])
        policies = {row["column_name"]: row["policies"] for row in covered.dicts()}
        rows = ({**row, "policies": policies.get(row["column_name"]) or row["policies"]} for row in columns.dicts())
        return with_rows(columns, rows)

    def names(self, shown: PageSubject) -> Answer:
        """The names of what a page is about; with notes on what had its name before with a schema or database that was
        renamed or swapped since, and not in a row: it is not among those that had the name.
        """
        answer = self.ask("page-names", {"object": shown.iris})
        name = shown.name or shown.thing.name
        of_name = self.ask("former-names", {"object_name": name}).notes if name else ()
        notes = [note for note in of_name if UNLISTED in note and not note.startswith(tuple(answer.notes))]
        return replace(answer, notes=[*answer.notes, *notes])

    def on_pseudonyms(self, text: str) -> list[str]:
        """The note that users have pseudonyms, where nothing was found by a text: it can be the name of one."""
        return [note for note in self.ask("user-history", {"user_name": text}).notes if note == PSEUDONYMS]

    def short_queries(self, iris: Sequence[str]) -> list[str]:
        """What the reader of a hybrid table has to know of its short queries."""
        rows = self.rows("page-short-queries", {"object": iris})
        return [(SHORT_QUERIES_COUNTED if row["recorded"] == "true" else SHORT_QUERIES_MISSING) for row in rows]

    def namesakes(self, thing: SiteObject) -> Answer:
        """The other objects that had one of the names of an object: those of its kind, tables and views together."""
        names = sorted({row["name"] or "" for row in self.rows("page-names", {"object": thing.iri})} - {""})
        answer = self.ask("page-named", {"object_name": names or [""]})
        alike = (row for row in answer.rows if row[1] in _kinds_sharing_names(thing))
        others = [row for row in alike if row[0] != thing.iri and any(_has(name, row[3]) for name in names)]
        return self.with_accounts(Answer(answer.columns, others))

    def holders(self, names: Iterable[str]) -> Mapping[str, list[str]]:
        """The IRIs of all objects that had a name, and of locations, by the name in the form that is compared."""
        asked_names = sorted({name for name in names if name})
        params = {"object_name": asked_names, "location": asked_names}
        iris_by_name: dict[str, dict[str, None]] = {}
        for row in self.rows("page-named", params, 10_000) if asked_names else ():
            iris_by_name.setdefault(match_name(row["known_name"] or ""), {})[row["object_iri"] or ""] = None
        return {name: list(iris) for name, iris in iris_by_name.items()}

    @cached_property
    def period(self) -> Mapping[str, str | None]:
        """Times of the first and last query, and the numbers of queries, users and objects."""
        return self.rows("page-period")[0]

    @property
    def first(self) -> str | None:
        """The time of the first query; None where there is none, or no answer."""
        with suppress(ExporterError):
            return self.period["first"]
        return None

    @property
    def last(self) -> str | None:
        """The time of the last query, as of the first."""
        with suppress(ExporterError):
            return self.period["last"]
        return None

    def no_row(self, shows: str, since: str | None = None) -> str:
        """``No row from 2026-09-01 to 2026-09-30 shows a read of it.`` ``since``: only later rows were asked for."""
        first, last = self.first, self.last
        if since and last and since > last:
            return f"No row since {since[:10]} {shows}: the record ends on {last[:10]}."
        begin = first and first[:10]
        if since and first and since > first:
            begin = since[:10] if since[10:19] in {"", "T00:00:00"} else since
        when = f" from {begin} to {last[:10]}" if begin and last else ""
        return f"No row{when} {shows}."

    def is_old(self) -> bool:
        """Whether the folder now has a newer export than the one that is shown."""
        with suppress(ExporterError, OSError):
            return stores.key(self.graph) != self._key
        return True


def _has(name: str, known_name: str | None) -> bool:
    """Whether an object with a known name has this one: a user's stage is also found in another letter case."""
    return match_name(known_name or "") == match_name(name)


def _kinds_sharing_names(thing: SiteObject) -> AbstractSet[str]:
    """The kinds that share their names with an object."""
    return _SHARING_NAMES if thing.kind in _SHARING_NAMES else {thing.kind}


def _values(params: Params) -> dict[str, tuple[str, ...]]:
    """The values of parameters, of which each may have one or several."""
    return {name: (value,) if isinstance(value, str) else tuple(value) for name, value in params.items()}


def _base(graph: Path) -> str:
    """The base of the IRIs, from the export's settings; empty where there are none, so that addresses show whole
    IRIs.
    """
    base = settings_of(graph).get("base")
    return base if isinstance(base, str) else ""
