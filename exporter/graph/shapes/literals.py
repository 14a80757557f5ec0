"""Literals: the values of their texts, and whether a text is valid for its datatype.

Texts are parsed by Python's parsers, as pySHACL does it, so that both engines give the same results. These accept a
little more than XML Schema (``"1_000"^^xsd:integer``, a date alone as an xsd:dateTime), and no years before 1 or after
9999.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import unhexlify
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from xml.dom import minidom

from exporter.graph.shapes.terms import RDF, XSD

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import Literal


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
    found = _duration_parts(text)
    if not found:
        raise ValueError(text)
    sign = -1 if found[1] == "-" else 1
    years, months, *others = (Decimal((part or "0").replace(",", ".")) for part in found.groups()[1:])
    weeks, days, hours, minutes, seconds = map(float, others)
    rest = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds) * sign
    months += 12 * years
    return Duration(months * sign, rest) if months else rest


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
