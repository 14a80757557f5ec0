"""Literals: their values, their order, and regular expressions on them. Both engines give the same results.

Texts are parsed by Python's parsers, as pySHACL does it. These accept a little more than XML Schema
(``"1_000"^^xsd:integer``, a date alone as an xsd:dateTime), and no years before 1 or after 9999.

The order of two values is that of pySHACL, for sh:lessThan, sh:minInclusive and similar constraints (SHACL, sections
4.3 and 4.5). The recommendation compares as SPARQL does; values that cannot be compared do not meet the constraint.
pySHACL also orders values that SPARQL does not: values of different datatypes by the name of the datatype, texts that
are not valid for their datatype by character. Where pySHACL stops with an error, the values count as not comparable.

Each search of a regular expression (sh:pattern) has a limit of time. Python's expressions, which the reference engine
uses too, can need more time than there is: ``^(a+)+$`` tries each way to divide a text. The limit counts the processor
time of this process, so a busy machine makes no difference. Python's ``re`` looks for signals while it searches;
signals reach the main thread only, so in another thread there is no limit.
"""

from __future__ import annotations

import re
import signal
import threading
from base64 import b64decode
from binascii import unhexlify
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from types import FrameType
from typing import Any, Final, NamedTuple, NoReturn
from xml.dom import minidom

from exporter.errors import UsageError
from exporter.graph.shapes.model import RDF, XSD, BlankNode, Literal, Term


class Reading(NamedTuple):
    """A literal and its value. ``datatype``: xsd:string also for texts with a language; ``value``: None where the text
    is not valid for its datatype, or the datatype is unknown.
    """

    text: str
    datatype: str
    language: str | None
    value: Any
    is_ill_typed: bool

    @property
    def is_text(self) -> bool:
        """Whether it is compared as text, character by character."""
        return isinstance(self.value, str)

    @property
    def is_number(self) -> bool:
        """Whether it is compared as a number, with numbers of any datatype."""
        return self.datatype in _NUMBERS and not self.is_ill_typed


@dataclass(frozen=True)
class Duration:
    """A duration with months, which has no order: a month has 28 to 31 days."""

    months: Decimal
    rest: timedelta


@lru_cache(maxsize=4_096)
def read(literal: Literal) -> Reading:
    """The value of the literal."""
    text, datatype = literal.value, literal.datatype.value
    if literal.language:
        return Reading(text, f"{XSD}string", literal.language, text, is_ill_typed=False)
    if datatype in _TEXTS:
        return Reading(text, datatype, None, text, is_ill_typed=False)
    reader = _READERS.get(datatype)
    if reader is None:
        return Reading(text, datatype, None, None, is_ill_typed=False)
    try:
        value = reader(text)
    except Exception:  # noqa: BLE001 - whatever a parser raises, the text is not valid for the datatype
        return Reading(text, datatype, None, None, is_ill_typed=True)
    low, high = _LIMITS.get(datatype, (None, None))
    is_within = (low is None or value >= low) and (high is None or value <= high)
    return Reading(text, datatype, None, value, is_ill_typed=not is_within)


def _boolean(text: str) -> bool:
    if text not in {"true", "false", "1", "0"}:
        raise ValueError(text)
    return text in {"true", "1"}


def _date(text: str) -> date:
    """A date without its zone; a time after the date is ignored."""
    text = text[:-1] if text[-1:] in {"Z", "z"} else text
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    if "T" in text:
        text = text.split("T")[0]
    elif text.rfind("+") > 0:
        text = text[: text.rfind("+")]
    elif ":" in text.rpartition("-")[2] and "-" in text:
        text = text.rpartition("-")[0]
    if "-" not in text:
        raise ValueError(text)
    return date.fromisoformat(sign + text)


_number: Final = r"([0-9]+(?:[,.][0-9]+)?)"
_duration_parts: Final = re.compile(
    rf"([+-])?P(?!\Z|T\Z)(?:{_number}Y)?(?:{_number}M)?(?:{_number}W)?(?:{_number}D)?"
    rf"(?:T(?:{_number}H)?(?:{_number}M)?(?:{_number}S)?)?\n?\Z"
).match


def _duration(text: str) -> timedelta | Duration:
    match = _duration_parts(text)
    if not match:
        raise ValueError(text)
    sign = -1 if match[1] == "-" else 1
    years, months, *units = (Decimal((part or "0").replace(",", ".")) for part in match.groups()[1:])
    weeks, days, hours, minutes, seconds = map(float, units)
    delta = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds) * sign
    months += 12 * years
    return Duration(months * sign, delta) if months else delta


def _xml(text: str) -> bytes:
    """The text; raises where it is not well-formed as the content of an XML element."""
    minidom.parseString(f"<all>{text}</all>")  # noqa: S318 - expat reads no entities from elsewhere
    return text.encode()


_WHOLE_NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None),
    "long": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, None),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
_LIMITS: Final = {f"{XSD}{name}": limits for name, limits in _WHOLE_NUMBERS.items()}
_NUMBERS: Final = {*_LIMITS, f"{XSD}decimal", f"{XSD}float", f"{XSD}double"}
_TEXTS: Final = {f"{XSD}{name}" for name in ("string", "normalizedString", "token", "language", "anyURI")}
_READERS: Final[dict[str, Callable[[str], Any]]] = {
    **dict.fromkeys(_LIMITS, int),
    f"{XSD}boolean": _boolean,
    f"{XSD}decimal": Decimal,
    f"{XSD}float": float,
    f"{XSD}double": float,
    f"{XSD}dateTime": datetime.fromisoformat,
    f"{XSD}date": _date,
    f"{XSD}time": time.fromisoformat,
    f"{XSD}duration": _duration,
    f"{XSD}dayTimeDuration": _duration,
    f"{XSD}yearMonthDuration": _duration,
    f"{XSD}hexBinary": lambda text: unhexlify(text.encode()),
    f"{XSD}base64Binary": b64decode,
    f"{RDF}XMLLiteral": _xml,
}
"""The parser for the texts of each datatype; each raises where the text is not valid."""


def is_before(first: Term, second: Term, *, or_same: bool) -> bool:
    """Whether ``first`` is less than ``second``; or equal, where ``or_same``. IRIs are compared as texts."""
    if isinstance(first, BlankNode) or isinstance(second, BlankNode):
        return False
    texts = _as_text(first), _as_text(second)
    if texts[0] is not None and texts[1] is not None:
        return texts[0] < texts[1] or (or_same and texts[0] == texts[1])
    if texts[0] is not None or texts[1] is not None:
        return False
    reading, other = read(first), read(second)
    try:
        equal = _is_equal(reading, other)
        after = _is_after(reading, other)
    except ArithmeticError:  # a decimal that is not a number
        return False
    return not after if equal is None else (equal and or_same) or not (after or equal)


def compared(value: Term, bound: Literal) -> int | None:
    """-1, 0 or 1 where the value is below, at or above the bound; None where they cannot be compared."""
    if not isinstance(value, Literal):
        return None
    reading, other = read(value), read(bound)
    if reading.is_text != other.is_text:
        return None
    try:
        equal = _is_equal(reading, other)
        if equal is None:
            return None
        if equal:
            return 0
        after = reading.value > other.value if type(reading.value) in {datetime, time} else _is_after(reading, other)
    except (TypeError, ArithmeticError):
        return None
    return 1 if after else -1


def _as_text(term: Term) -> str | None:
    if not isinstance(term, Literal):
        return term.value
    reading = read(term)
    return reading.text if reading.is_text else None


def _is_equal(reading: Reading, other: Reading) -> bool | None:
    """None where it is undecidable: the same datatype, different texts, and one of them is not valid."""
    if reading.is_number and other.is_number:
        return bool(reading.value == other.value)
    if reading.language != other.language:
        return False
    if reading.datatype != other.datatype:
        return False
    if reading.value is not None and other.value is not None:
        return bool(reading.value == other.value)
    return True if reading.text == other.text else None


def _is_after(reading: Reading, other: Reading) -> bool:
    if reading.is_number and other.is_number:
        return bool(reading.value > other.value)
    if reading.datatype != other.datatype:
        return reading.datatype > other.datatype
    if reading.language != other.language:
        return bool(reading.language) and (not other.language or str(reading.language) > other.language)
    if reading.value is not None and other.value is not None:
        try:
            return bool(_in_order(reading.value) > _in_order(other.value))
        except TypeError:
            pass
    return reading.text > other.text


def _in_order(value: Any) -> Any:
    """A key that orders times: those without a zone come before those with one."""
    if isinstance(value, datetime | time):
        return (value.tzinfo is not None and value.utcoffset() is not None, value)
    return value


LIMIT: Final = 10.0
"""Seconds of processor time for one value."""
TOO_SLOW: Final = "sh:pattern takes too long"
"""The beginning of the message, by which :mod:`exporter.system.faults` recognises an error from a worker of Spark."""
_fixed: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d+\}", re.DOTALL)
"""What repeats nothing, or one character a known number of times: escapes, classes of characters, ``{4}``."""
_repeats: Final = re.compile(r"[*+{]")
_chooses: Final = re.compile(r"[()|?]").search
"""Groups and choices: with ``?`` or ``|`` in a group, ``{40}`` alone gives more ways than there is time for."""
_back: Final = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")


class _TooSlowError(Exception):
    pass


class Expression:
    """A compiled expression. Raises re.error if it is none. ``is_limited``: whether a search may take long."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern, self._compiled = pattern, re.compile(pattern, flags)
        self.is_limited: Final = bool(flags & re.MULTILINE) or not _is_linear(pattern)

    def found(self, text: str) -> bool:
        """Whether it matches anywhere in a text. Raises UsageError if that takes longer than the limit."""
        if not self.is_limited or threading.current_thread() is not threading.main_thread():
            return self._compiled.search(text) is not None
        before = signal.signal(signal.SIGVTALRM, _stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            return self._compiled.search(text) is not None
        except _TooSlowError:
            raise UsageError(
                f"{TOO_SLOW}: {self._pattern!r} has no answer after {LIMIT:.0f} seconds for a value of {len(text):,} "
                "characters; nothing was validated or published. Write it without repetitions inside of repetitions, "
                "such as (a+)+, and begin it with ^"
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)


def _is_linear(pattern: str) -> bool:
    """Whether the time is proportional to the text: no groups and no choices, and nothing is repeated, or one thing
    after a fixed beginning.

    >>> [_is_linear(one) for one in ("^[A-Z]+$", "R", "^a{4}-[*]b*", "(a+)+", "a*", "^a|b*", "(?:a?){40}")]
    [True, True, True, False, False, False, False]
    """
    varying = _fixed.sub("", pattern)
    if _back.search(pattern) or _chooses(varying):
        return False
    times = len(_repeats.findall(varying))
    return times == 0 or (times == 1 and varying.startswith("^"))


def _stop(_: int, __: FrameType | None) -> NoReturn:
    raise _TooSlowError
