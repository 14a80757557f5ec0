"""The shipped questions (``examples/queries/*.rq``), found by name, and their groups.

A question is a file of plain SPARQL 1.1. Its first comment lines say what it answers, what is to be known of its answer
(:class:`Question`), and which parameters it has (:mod:`exporter.ask.parameters`). A user's own ``.rq`` file works in
the same way. Nothing here loads a graph or an engine, so that the help of a command and the completion of a shell do
not wait for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Final

from exporter.ask.parameters import LONGEST, Parameter, declared
from exporter.errors import UsageError
from exporter.system.files import queries_dir

GROUPS: Final = (
    "Who and what",
    "Requests and statements",
    "Where data came from",
    "Where data went",
    "Tags, policies, grants",
    "What changed",
)
"""What the shipped questions are about, in the order of ``docs/questions.md``."""
VALUES: Final = {
    "group": GROUPS,
    "needs": ("reads", "writes", "lineage", "policies", "DDL", "requests"),
    "daily reads": ("same", "rows by day", "left out"),
    "aggregated queries": ("same", "rows without id", "counted", "left out"),
}
"""What a question may say of itself in its first comment lines, and the values (:class:`Question`)."""
_declaration: Final = re.compile(rf"# (?P<name>{'|'.join(VALUES)}): (?P<value>.+)").fullmatch


@dataclass(frozen=True)
class Question:
    """``asks``: the question in words; ``query``: the SPARQL text of the file at ``path``.

    The rest is what the file says of itself. ``group``: one of :data:`GROUPS`. ``needs``: the parts of rows that the
    answer is made of; the part ``lineage`` is reads and writes that are followed from one object to another, and
    ``requests`` which query ran which other one.
    ``daily_reads``: how it answers a graph of ``--reads daily``: ``same`` as of single reads, with ``rows by day``, or
    reads are ``left out``. ``aggregated_queries``: as what AGGREGATE_ACCESS_HISTORY counts: the ``same`` as single
    queries, with ``rows without id``, every call ``counted``, or ``left out``. Empty where it says nothing.
    """

    name: str
    asks: str
    parameters: tuple[Parameter, ...]
    query: str
    path: Path
    group: str
    needs: frozenset[str]
    daily_reads: str
    aggregated_queries: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the answer, in order."""
        return _columns(self.query)


@lru_cache(maxsize=100)
def _columns(query: str) -> tuple[str, ...]:
    """Planning a question takes longer than answering it, if nothing is asked."""
    from pyoxigraph import Store  # noqa: PLC0415 - the names and parameters of questions need no engine

    result = Store().query(query)
    return tuple(variable.value for variable in getattr(result, "variables", ()))


def names() -> list[str]:
    """The names of the shipped questions, in order; no file is read."""
    return sorted(path.stem for path in queries_dir().glob("*.rq"))


def questions(folder: Path | None = None) -> list[Question]:
    """The shipped questions, or those of another folder, ordered by name."""
    return [_read(path) for path in sorted((folder or queries_dir()).glob("*.rq"))]


def find(name_or_file: str) -> Question:
    """A shipped question by its name, or the question in a ``.rq`` file; UsageError lists the names where none fits."""
    path = Path(name_or_file)
    if path.suffix == ".rq":
        return _read_own(path)
    shipped = names()
    if name_or_file not in shipped:
        similar = get_close_matches(name_or_file, shipped, n=1)
        hint = f" Did you mean {similar[0]}?" if similar else ""
        raise UsageError(
            f"There is no question {name_or_file}.{hint} There are: {', '.join(shipped)}; or give a file NAME.rq."
        )
    return _read(queries_dir() / f"{name_or_file}.rq")


def is_shipped(question: Question) -> bool:
    """Whether the question is one of ours, and no file of a user."""
    return question.path.parent == queries_dir()


def grouped(listed: Iterable[Question]) -> dict[str, list[Question]]:
    """Questions by what they are about, ordered by name; a group without questions is left out."""
    ordered = sorted(listed, key=lambda question: question.name)
    groups = {group: [question for question in ordered if question.group == group] for group in (*GROUPS, "")}
    return {group or "Others": questions for group, questions in groups.items() if questions}


def comment_of(query: str) -> list[str]:
    """The lines of the comment at the top of a question, without its declarations and without the signs ``#``."""
    lines = takewhile(lambda line: line.startswith("#"), query.splitlines())
    lines_of_text = (line for line in lines if not line.startswith("# param ") and not _declaration(line))
    return [line.removeprefix("#").strip() for line in lines_of_text]


def _read(path: Path) -> Question:
    query = path.read_text(encoding="utf-8")
    asks = " ".join(takewhile(bool, comment_of(query)))
    values = {name: _values(query, name) for name in VALUES}
    group, daily, aggregated = (next(iter(values[name]), "") for name in ("group", "daily reads", "aggregated queries"))
    return Question(path.stem, asks, declared(query), query, path, group, frozenset(values["needs"]), daily, aggregated)


def _values(query: str, name: str) -> list[str]:
    """What the comment at the top of a question says of itself under this name; other words than ours are text."""
    lines = takewhile(lambda line: line.startswith("#"), query.splitlines())
    texts = [match["value"] for line in lines if (match := _declaration(line)) and match["name"] == name]
    values = [value for text in texts for value in ([text] if name == "group" else text.split(", "))]
    return [value for value in values if value in VALUES[name]]


def _read_own(path: Path) -> Question:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be read: it is not a file.")
    try:
        if path.stat().st_size > 4 * LONGEST:
            raise UsageError(f"{path} is too large for a question: it may have {LONGEST:,} characters.")
        return _read(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.") from error
