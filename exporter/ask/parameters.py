"""SPARQL from people: its parameters, its errors, and what it may not contain.

A parameter is declared in a comment line of the question's file. ``?`` marks one that may be left out; ``=`` gives a
default. The brackets say what the value is (:data:`KINDS`), and which other parameter it can replace::

    # param object_id (object id): Snowflake's id of the object
    # param object_name (object) (or object_id): the object, by a name that it has or had
    # param domain = Table (domain): what kind of object the id belongs to
    # param since? (time): only queries that started at this time or later

Its value is bound in a line with a ``VALUES`` block, so that the file also runs unchanged in any SPARQL engine. A
parameter that is given several times has several values: the block holds all of them. ::

    VALUES ?since { UNDEF }  # param since

A question reads its graph and nothing else. ``SERVICE`` would reach the network. ``FROM`` and the updates (``LOAD``
among them) have no meaning here, and would give empty answers. They are refused with a message. Safety does not depend
on these checks, since the process that answers cannot open files or connections (:mod:`exporter.ask.worker`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from difflib import get_close_matches
from numbers import Number
from typing import Final, TypeAlias

from exporter.errors import UsageError, described
from exporter.model.identifiers import match_name, usable_id

_expected: Final = re.compile(r"(?P<where>.*?): expected (?:one of )?(?P<what>.*)", re.DOTALL).fullmatch
_ITEM: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\[.*?\](?=,|\Z)|[^,]+', re.DOTALL)
_is_words: Final = re.compile(r"[A-Z][A-Za-z]* [\w ]*[a-z]").match
_MOST: Final = 8


def error_message(error: SyntaxError) -> str:
    """Where the error is and what it is: the engine's own words if it has some, such as "Prefix not found", else the
    signs and keywords that could stand there. The classes of characters that it also lists are left out.

    >>> error_message(SyntaxError("error at 1:29: expected one of Prefix not found, ['%'], ['_']"))
    'error at 1:29: Prefix not found'
    >>> error_message(SyntaxError('error at 2:10: expected one of ",", ".", "}", [0 ..= 9]'))
    'error at 2:10: expected one of ",", ".", "}"'
    """
    match = _expected(str(error.msg))
    if match is None:
        return str(error.msg).splitlines()[0]
    expected = [item.strip() for item in _ITEM.findall(match["what"])]
    words = [item for item in expected if _is_words(item)]
    signs = [item for item in expected if item and not item.startswith("[")]
    text = ". ".join(words) or (f"expected one of {', '.join(signs[:_MOST])}" if signs else "")
    return f"{match['where']}: {text}" if text else match["where"]


LONGEST: Final = 1 << 20
"""The most characters of a question."""
_UPDATES: Final = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"}
)  # fmt: skip
_PROLOGUE: Final = frozenset({"BASE", "PREFIX"})
_TOKEN: Final = re.compile(
    r"#[^\r\n]*+"
    r'|"""(?:[^"\\]|\\.|"[^"\\]|"\\.|""[^"\\]|""\\.)*+(?:""")?|"(?:[^"\\\r\n]|\\.)*+"?'
    r"|'''(?:[^'\\]|\\.|'[^'\\]|'\\.|''[^'\\]|''\\.)*+(?:''')?|'(?:[^'\\\r\n]|\\.)*+'?"
    r'|<[^<>"{}|^`\\\x00-\x20]*+>'
    r"|[?$]\w++|@[A-Za-z][\w-]*+"
    r"|(?P<words>[\w.-]++)(?P<local>:(?:[\w:.-]|%[0-9A-Fa-f][0-9A-Fa-f]|\\.)*+)?",
    re.DOTALL,
)
"""A comment, string, IRI or variable, in which no keyword can stand; or words, with the local name that follows a
prefix. What is never closed goes on to the end of the text, so that no part is scanned twice.
"""
_prefixes: Final = re.compile(r"PREFIX\s++([A-Za-z]++):", re.IGNORECASE).findall
_word: Final = re.compile(r"[A-Za-z]+").findall


class ForbiddenError(UsageError):
    """A question that would change the graph or reach another service."""


def refuse(query: str, name: str) -> None:
    """Raises UsageError for a question with a forbidden part: ForbiddenError for an update or a SERVICE. ``name``: of
    the question, for the message.
    """
    if len(query) > LONGEST:
        raise UsageError(f"{name} has {len(query):,} characters, more than {LONGEST:,}; ask several questions.")
    words = list(_words(query))
    if "SERVICE" in words:
        raise ForbiddenError(f"{name} has a SERVICE; a question can only read the graph, so remove that part.")
    if "FROM" in words:
        raise UsageError(f"{name} reads FROM somewhere; a question can only read its own graph, so remove FROM.")
    first = next((word for word in words if word not in _PROLOGUE), "")
    if first in _UPDATES:
        raise ForbiddenError(f"{name} is an update ({first}); a question is a SELECT, ASK, CONSTRUCT or DESCRIBE.")


def _words(query: str) -> Iterator[str]:
    """The words that may be keywords, in upper case."""
    prefixes = {name.upper() for name in _prefixes(query)}
    for match in _TOKEN.finditer(query):
        words = [word.upper() for word in _word(match["words"] or "")]
        if match["local"] is None:
            yield from words
        elif words and words[-1] not in prefixes:
            yield words[-1]  # the engine reads SERVICE:x as a keyword and a name


ParameterValues: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""The values of parameters, by name: one text, or several."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    kind: tuple(kind.split(" or ")) for kind in ("shown or bridged", "masks or aggregates")
}
"""A kind of parameter that has few values, and these."""
KINDS: Final = (
    *("time", "thing", "object", "object id", "domain", "column", "tag", "user", "agent", "query"),
    *CHOICES,
)
"""What a value is, if not just text. A thing is an IRI; names are matched by Snowflake's rule of letter case."""
_DECLARATION: Final = re.compile(
    r"^# param (?P<name>\w+)(?P<optional>\?)?(?: = (?P<default>[^:()]+?))?"
    rf"(?: \((?P<kind>{'|'.join(KINDS)})\))?(?: \(or (?P<instead>\w+)\))?: (?P<text>.+)$",
    re.MULTILINE,
)
_PLACE: Final = r"(VALUES \?\w+ \{{ )[^}}\n]*( \}}  # param {name})$"
_breaks_an_iri: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]|\A\Z").search
_DATE_TIME: Final = "http://www.w3.org/2001/XMLSchema#dateTime"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_READ: Final[Mapping[str, Callable[[str], str]]] = {
    **dict.fromkeys(("object", "column", "tag", "agent"), match_name),
    **dict.fromkeys(CHOICES, str.lower),
    "user": lambda value: value if value.startswith('"') else match_name(value),
    "object id": lambda value: usable_id(value) or value,
}
"""How a value is normalized, by the kind of its parameter, to compare it with the values in the graph. Rows have the
names of users as Snowflake stores them, so a question compares one in quotes with ``ah:userName``.
"""


@dataclass(frozen=True)
class Parameter:
    """``kind``: ``text``, or one of :data:`KINDS`; ``default``: the value where none is given; ``instead``: the
    parameter that this one can replace.
    """

    name: str
    text: str
    kind: str = "text"
    required: bool = True
    default: str | None = None
    instead: str | None = None

    def __str__(self) -> str:
        """In messages: ``object_name``, ``(object_id in place of object_name)``, ``[domain=Table]``."""
        if self.instead:
            return f"({self.name} in place of {self.instead})"
        text = self.name if self.default is None else f"{self.name}={self.default}"
        return text if self.required else f"[{text}]"


def declared(text: str) -> tuple[Parameter, ...]:
    """The parameters that the comments of a question declare, in order."""
    return tuple(
        Parameter(
            name=match["name"],
            text=match["text"],
            kind=match["kind"] or "text",
            required=not match["optional"] and match["default"] is None and match["instead"] is None,
            default=match["default"],
            instead=match["instead"],
        )
        for match in _DECLARATION.finditer(text)
    )


def texts_of(name: str, given: object) -> list[str]:
    """The values of a parameter that a script gave: a text, a number, a day or time, or several of them. Raises
    UsageError for anything else, and for what is empty.
    """
    items = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | Number | date):
            raise UsageError(f"{name} must be a text, a number, a time, or a list of these, but is {described(item)}.")
    try:
        texts = [item.isoformat() if isinstance(item, date) else str(item) for item in items]
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        raise UsageError(f"{name} is a number of too many digits.") from None
    refuse_empty(name, texts)
    return texts


def refuse_empty(name: str, values: Sequence[str]) -> None:
    """Raises UsageError where a parameter has no value, or an empty one: an error of a script, which a question would
    take as no restriction, or as a name that nothing has.
    """
    if not values:
        raise UsageError(f"{name}: an empty list has no value. Give a value, or leave the parameter out for all.")
    if "" in values:
        raise UsageError(
            f"{name}: is empty; perhaps a variable is not set. Give it a value, or leave the parameter out for all."
        )


def with_plain_ids(parameters: Sequence[Parameter], params: ParameterValues) -> dict[str, list[str]]:
    """The values with ids as the graph has them: 66564 for ``66564.0``. Notes name the same id that is asked for."""
    ids = {parameter.name for parameter in parameters if parameter.kind == "object id"}
    read = _READ["object id"]
    return {name: [read(value) if name in ids else value for value in values_of(params, name)] for name in params}


def check_names(question: str, parameters: Sequence[Parameter], given: Iterable[str]) -> None:
    """Raises UsageError for the name of a parameter that the question does not have."""
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            raise UsageError(f"{question} has no parameter {name}.{nearest_name(name, names)} {_listed(parameters)}")


def nearest_name(name: str, names: Collection[str]) -> str:
    """For a message about an unknown name: `` Did you mean since?``, empty where no name is like it."""
    similar = get_close_matches(name, names, n=1)
    return f" Did you mean {similar[0]}?" if similar else ""


def check(question: str, parameters: Sequence[Parameter], params: ParameterValues) -> None:
    """Raises UsageError for a parameter that the question does not have, for a required one that is missing, for one
    with an empty list of values, and for a ``since`` after its ``until``.
    """
    check_names(question, parameters, params)
    for name in params:
        if not values_of(params, name):
            refuse_empty(name, [])
    for parameter in parameters:
        alternatives = [other.name for other in parameters if other.instead == parameter.name]
        if parameter.required and not {parameter.name, *alternatives} & params.keys():
            needed = " or ".join(f"--param {name}=VALUE" for name in (parameter.name, *alternatives))
            raise UsageError(f"{question} needs {needed}. {_listed(parameters)}")
    _check_order({parameter.name for parameter in parameters if parameter.kind == "time"}, params)


def _check_order(times: AbstractSet[str], params: ParameterValues) -> None:
    """``since`` after ``until`` is a mistake: no row could match."""
    if not {"since", "until"} <= times & params.keys():
        return
    since, until = (sorted(instant(name, text) for text in values_of(params, name)) for name in ("since", "until"))
    if since and until and since[0] > until[-1]:
        raise UsageError(
            f"since={as_text(since[0])} is after until={as_text(until[-1])}, so no time lies between them: "
            "since is the earlier one of the two."
        )


def values_of(params: ParameterValues, name: str) -> list[str]:
    """All values of a parameter; none where it is not given."""
    values = params.get(name, [])
    return [values] if isinstance(values, str) else list(values)


def bind(text: str, parameters: Sequence[Parameter], params: ParameterValues) -> str:
    """The question with the given values in the ``VALUES`` block of each parameter; line numbers stay."""
    for parameter in parameters:
        values = values_of(params, parameter.name)
        if values:
            text = _bind_one(text, parameter, " ".join(_literal(parameter, value) for value in dict.fromkeys(values)))
    return text


def _bind_one(text: str, parameter: Parameter, literal: str) -> str:
    place = re.compile(_PLACE.format(name=re.escape(parameter.name)), re.MULTILINE)
    bound, places = place.subn(lambda match: f"{match[1]}{literal}{match[2]}", text)
    if not places:
        raise UsageError(
            f"The parameter {parameter.name} is declared but has no place in the question: "
            f"add a line 'VALUES ?{parameter.name} {{ UNDEF }}  # param {parameter.name}'."
        )
    return bound


def _literal(parameter: Parameter, value: str) -> str:
    if parameter.kind == "time":
        return f'"{as_text(instant(parameter.name, value))}"^^<{_DATE_TIME}>'
    if parameter.kind == "thing":
        if _breaks_an_iri(value):
            raise UsageError(f"{parameter.name}: {value!r} is not an IRI.")
        return f"<{value}>"
    if parameter.kind == "object id" and usable_id(value) is None:
        raise UsageError(f"--param {parameter.name}={value} is not an id: write a number above 0, such as 66564.")
    if parameter.kind in CHOICES and value.lower() not in CHOICES[parameter.kind]:
        raise UsageError(f"--param {parameter.name}={value} is not one of its values: write {parameter.kind}.")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(f"--param {parameter.name}={value!r} is not UTF-8 text.")
    return f'"{_READ.get(parameter.kind, str)(value).translate(_ESCAPES)}"'


_before_zone: Final = re.compile(r" (?=[+-]\d{2}:?\d{2}\Z)")


def instant(name: str, value: str) -> datetime:
    """The time in UTC; without a zone it is taken as UTC, without a time of day as midnight. Rows have a space before
    the zone.
    """
    try:
        time = datetime.fromisoformat(_before_zone.sub("", value.strip()))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--param {name}={value} is not a time. "
            "Write 2026-09-30, 2026-09-30T08:00:00Z or 2026-09-30T08:00:00+02:00."
        ) from None


def as_text(time: datetime) -> str:
    """A time in UTC in the form of the graph."""
    return time.isoformat().replace("+00:00", "Z")


def _listed(parameters: Sequence[Parameter]) -> str:
    if not parameters:
        return "It takes none."
    return f"Its parameters: {', '.join(str(parameter) for parameter in parameters)}."
