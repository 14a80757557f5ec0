"""The order of two values, for sh:lessThan, sh:minInclusive and similar constraints (SHACL, sections 4.3 and 4.5).

The recommendation compares as SPARQL does; values that cannot be compared do not meet the constraint. pySHACL also
orders values that SPARQL does not: values of different datatypes by the name of the datatype, texts that are not valid
for their datatype by character. The order here is that of pySHACL. Where pySHACL stops with an error, the values count
as not comparable, and the constraint is not met.
"""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from exporter.graph.shapes.literals import read
from exporter.graph.shapes.terms import BlankNode, Literal

if TYPE_CHECKING:
    from exporter.graph.shapes.literals import Reading
    from exporter.graph.shapes.terms import Term


def is_before(first: Term, second: Term, *, or_same: bool) -> bool:
    """Whether ``first`` is less than ``second``; or equal, where ``or_same``. IRIs are compared as texts."""
    if isinstance(first, BlankNode) or isinstance(second, BlankNode):
        return False
    texts = _as_text(first), _as_text(second)
    if texts[0] is not None and texts[1] is not None:
        return texts[0] < texts[1] or (or_same and texts[0] == texts[1])
    if texts[0] is not None or texts[1] is not None:
        return False
    one, other = read(first), read(second)
    try:
        equal = _is_equal(one, other)
        after = _is_after(one, other)
    except ArithmeticError:  # a decimal that is not a number
        return False
    return not after if equal is None else (equal and or_same) or not (after or equal)


def compared(value: Term, bound: Literal) -> int | None:
    """-1, 0 or 1 where the value is below, at or above the bound; None where they cannot be compared."""
    if not isinstance(value, Literal):
        return None
    one, other = read(value), read(bound)
    if one.is_text != other.is_text:
        return None
    try:
        equal = _is_equal(one, other)
        if equal is None:
            return None
        if equal:
            return 0
        after = one.value > other.value if type(one.value) in {datetime, time} else _is_after(one, other)
    except (TypeError, ArithmeticError):
        return None
    return 1 if after else -1


def _as_text(term: Term) -> str | None:
    if not isinstance(term, Literal):
        return term.value
    found = read(term)
    return found.text if found.is_text else None


def _is_equal(one: Reading, other: Reading) -> bool | None:
    """None where it is undecidable: the same datatype, different texts, and one of them is not valid."""
    if one.is_number and other.is_number:
        return bool(one.value == other.value)
    if one.language != other.language:
        return False
    if one.datatype != other.datatype:
        return False
    if one.value is not None and other.value is not None:
        return bool(one.value == other.value)
    return True if one.text == other.text else None


def _is_after(one: Reading, other: Reading) -> bool:
    if one.is_number and other.is_number:
        return bool(one.value > other.value)
    if one.datatype != other.datatype:
        return one.datatype > other.datatype
    if one.language != other.language:
        return bool(one.language) and (not other.language or str(one.language) > other.language)
    if one.value is not None and other.value is not None:
        try:
            return bool(_in_order(one.value) > _in_order(other.value))
        except TypeError:
            pass
    return one.text > other.text


def _in_order(value: Any) -> Any:
    """A key that orders times: those without a zone come before those with one."""
    if isinstance(value, datetime | time):
        return (value.tzinfo is not None and value.utcoffset() is not None, value)
    return value
