"""The shipped questions (``examples/queries/*.rq``), found by name, and their groups.

A question is a file of plain SPARQL 1.1. Its first comment lines say what it answers and which parameters it has
(:mod:`exporter.ask.parameters`). A user's own ``.rq`` file works in the same way. Nothing here loads a graph or an
engine, so that the help of a command and the completion of a shell do not wait for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Final

from exporter.ask.parameters import LONGEST, Parameter, declared
from exporter.errors import UsageError
from exporter.system.files import queries_dir

GROUPS: Final = {
    "Who and what": (
        "user-history",
        "who-accessed",
        "when-accessed",
        "columns-accessed",
        "column-readers",
        "writers",
        "unused-objects",
        "former-names",
    ),
    "Requests and statements": ("statements-of-request", "ancestors", "joins"),
    "Where data came from": ("root-cause", "lineage-as-of", "column-lineage"),
    "Where data went": ("end-up", "column-copies", "sensitive-data-movement", "downstream-users"),
    "Tags, policies, grants": (
        "tag-history",
        "policy-coverage",
        "tag-reach",
        "masking-policies",
        "row-access-policies",
        "enforced-policy",
        "policy-access",
        "unmasked-reads",
        "unmasked-copies",
        "agent-reads",
        "exposure",
    ),
    "What changed": ("changes",),
}
"""The shipped questions by what they are about, as in ``docs/questions.md``."""


@dataclass(frozen=True)
class Question:
    """``asks``: the question in words; ``query``: the SPARQL text of the file at ``path``."""

    name: str
    asks: str
    parameters: tuple[Parameter, ...]
    query: str
    path: Path

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the answer, in order."""
        from pyoxigraph import Store  # noqa: PLC0415 - the names and parameters of questions need no engine

        result = Store().query(self.query)
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
        near = get_close_matches(name_or_file, shipped, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"There is no question {name_or_file}.{hint} There are: {', '.join(shipped)}; or give a file NAME.rq."
        )
    return _read(queries_dir() / f"{name_or_file}.rq")


def is_shipped(question: Question) -> bool:
    """Whether the question is one of ours, and no file of a user."""
    return question.path.parent == queries_dir()


def _read(path: Path) -> Question:
    query = path.read_text(encoding="utf-8")
    return Question(path.stem, _asks(query), declared(query), query, path)


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


def _asks(query: str) -> str:
    """The first paragraph of the comment at the top of the file, as one line; empty where there is none."""
    paragraph = takewhile(lambda line: line.startswith("# ") and not line.startswith("# param "), query.splitlines())
    return " ".join(line.removeprefix("# ").strip() for line in paragraph)
