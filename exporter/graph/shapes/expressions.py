"""Regular expressions of a user's shapes (sh:pattern), each search with a limit of time.

Python's expressions, which the reference engine uses too, can need more time than there is: ``^(a+)+$`` tries each way
to divide a text. The limit counts the processor time of this process, so a busy machine makes no difference. Python's
``re`` looks for signals while it searches; signals reach the main thread only, so in another thread there is no limit.
"""

from __future__ import annotations

import re
import signal
import threading
from typing import TYPE_CHECKING, Final, NoReturn

from exporter.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

LIMIT: Final = 10.0
"""Seconds of processor time for one value."""
TOO_SLOW: Final = "sh:pattern takes too long"
"""The beginning of the message, by which an error from a worker of Spark is recognised (:mod:`exporter.faults`)."""
_SHORT: Final = 16
"""Texts up to this length are searched without a limit: they have few ways to be divided."""
_fixed: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d+\}", re.DOTALL)
"""What repeats nothing, or a known number of times: escapes, classes of characters, ``{4}``."""
_repeats: Final = re.compile(r"[*+{]")
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
        if not self.is_limited or len(text) <= _SHORT or not _is_main():
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
    """Whether the time is proportional to the text: nothing is repeated, or one thing after a fixed beginning.

    >>> [_is_linear(one) for one in ("^[A-Z]+$", "R", "^a{4}-[*]b*", "(a+)+", "a*", "^a|b*")]
    [True, True, True, False, False, False]
    """
    if _back.search(pattern):
        return False
    rest = _fixed.sub("", pattern)
    times = len(_repeats.findall(rest))
    return times == 0 or (times == 1 and rest.startswith("^") and not {*"()|"} & {*rest})


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _stop(_: int, __: FrameType | None) -> NoReturn:
    raise _TooSlowError
