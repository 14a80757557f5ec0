"""Parameters of a question: declared in its comments, bound at the places that it marks.

A declaration is a comment line of the file, with ``?`` where the parameter may be left out, or its default, and
``(time)`` or ``(thing)``, an IRI, where it is one::

    # param object_id: Snowflake's id of the object
    # param domain = Table: what kind of object the id belongs to
    # param since? (time): only queries that started at this time or later

The place is a line whose ``VALUES`` block the value goes into, so that the file runs unchanged in any engine too::

    VALUES ?since { UNDEF }  # param since
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DECLARATION: Final = re.compile(
    r"^# param (?P<name>\w+)(?P<optional>\?)?(?: = (?P<default>[^:()]+?))?(?: \((?P<kind>time|thing)\))?"
    r": (?P<text>.+)$",
    re.MULTILINE,
)
_PLACE: Final = r"(VALUES \?\w+ \{{ )[^}}\n]*( \}}  # param {name})$"
_breaks_an_iri: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]|\A\Z").search
_DATE_TIME: Final = "http://www.w3.org/2001/XMLSchema#dateTime"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True)
class Parameter:
    """``kind``: ``text``, ``time`` or ``thing`` (an IRI); ``default``: what stands in the file if nothing is given."""

    name: str
    text: str
    kind: str = "text"
    required: bool = True
    default: str | None = None

    def __str__(self) -> str:
        """As a person would give it: ``object_id``, ``[domain=Table]``, ``[since]``."""
        shown = self.name if self.default is None else f"{self.name}={self.default}"
        return shown if self.required else f"[{shown}]"


def declared(text: str) -> tuple[Parameter, ...]:
    """The parameters that the comments of a question declare, in their order."""
    return tuple(
        Parameter(
            name=found["name"],
            text=found["text"],
            kind=found["kind"] or "text",
            required=not found["optional"] and found["default"] is None,
            default=found["default"],
        )
        for found in _DECLARATION.finditer(text)
    )


def check(question: str, parameters: Sequence[Parameter], given: Mapping[str, str]) -> None:
    """Raise a :class:`UsageError` for a parameter that the question does not have, or one that it lacks."""
    known = [parameter.name for parameter in parameters]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"{question} has no parameter {name}.{hint} {_listed(parameters)}")
    missing = [parameter.name for parameter in parameters if parameter.required and parameter.name not in given]
    if missing:
        raise UsageError(f"{question} needs --param {missing[0]}=VALUE. {_listed(parameters)}")


def bind(text: str, parameters: Sequence[Parameter], given: Mapping[str, str]) -> str:
    """The question with each given value in the ``VALUES`` block of its parameter; line numbers stay."""
    for parameter in parameters:
        if parameter.name in given:
            text = _bind_one(text, parameter, _literal(parameter, given[parameter.name]))
    return text


def _bind_one(text: str, parameter: Parameter, literal: str) -> str:
    place = re.compile(_PLACE.format(name=re.escape(parameter.name)), re.MULTILINE)
    bound, places = place.subn(lambda found: f"{found[1]}{literal}{found[2]}", text)
    if not places:
        raise UsageError(
            f"The parameter {parameter.name} is declared but has no place in the question: "
            f"add a line 'VALUES ?{parameter.name} {{ UNDEF }}  # param {parameter.name}'."
        )
    return bound


def _literal(parameter: Parameter, value: str) -> str:
    if parameter.kind == "time":
        return f'"{_utc(parameter.name, value)}"^^<{_DATE_TIME}>'
    if parameter.kind == "thing":
        if _breaks_an_iri(value):
            raise UsageError(f"{parameter.name}: {value!r} is no IRI.")
        return f"<{value}>"
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(f"--param {parameter.name}={value!r} is not UTF-8 text.")
    return f'"{value.translate(_ESCAPES)}"'


def _utc(name: str, value: str) -> str:
    """The time in UTC; without a zone it is taken as UTC, without a time of day as midnight."""
    try:
        time = datetime.fromisoformat(value.strip())
        in_utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--param {name}={value} is no time. Write 2026-09-30, 2026-09-30T08:00:00Z or 2026-09-30T08:00:00+02:00."
        ) from None
    return in_utc.isoformat().replace("+00:00", "Z")


def _listed(parameters: Sequence[Parameter]) -> str:
    if not parameters:
        return "It takes none."
    return f"Its parameters: {', '.join(str(parameter) for parameter in parameters)}."
