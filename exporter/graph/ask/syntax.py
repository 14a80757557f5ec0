"""The engine's message about invalid SPARQL, shortened to a line for people."""

from __future__ import annotations

import re
from typing import Final

_expected: Final = re.compile(r"(?P<where>.*?): expected (?:one of )?(?P<what>.*)", re.DOTALL).fullmatch
_ITEM: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\[.*?\](?=,|\Z)|[^,]+', re.DOTALL)
_is_words: Final = re.compile(r"[A-Z][A-Za-z]* [\w ]*[a-z]").match
_MOST: Final = 8


def told(error: SyntaxError) -> str:
    """Where the error is and what it is: the engine's own words if it has some, such as "Prefix not found", else the
    signs and keywords that could stand there. The classes of characters that it also lists are left out.

    >>> told(SyntaxError("error at 1:29: expected one of Prefix not found, ['%'], ['_']"))
    'error at 1:29: Prefix not found'
    >>> told(SyntaxError('error at 2:10: expected one of ",", ".", "}", [0 ..= 9]'))
    'error at 2:10: expected one of ",", ".", "}"'
    """
    found = _expected(str(error.msg))
    if found is None:
        return str(error.msg).splitlines()[0]
    each = [item.strip() for item in _ITEM.findall(found["what"])]
    words = [item for item in each if _is_words(item)]
    signs = [item for item in each if item and not item.startswith("[")]
    what = ". ".join(words) or (f"expected one of {', '.join(signs[:_MOST])}" if signs else "")
    return f"{found['where']}: {what}" if what else found["where"]
