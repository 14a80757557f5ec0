"""A program that is killed, or that runs out of memory inside a library, cannot say so: a second process says it then.

It waits at a pipe that the system closes when the program is no more.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS: Final = (
    "exporter: ended from outside: killed, or no memory was left. An export's DIR is as it was, or the new one, whole; "
    "what a push delivered is on record. Start it again, with more memory if that was it\n"
)


@contextmanager
def ends_told() -> Iterator[None]:
    """Tell on standard error, from a process of its own, where this one ends before the block does.

    To be entered while there is one thread, no open file of the work, and no lock: the other process has them all, too.
    """
    said, say = os.pipe()
    try:
        watcher = os.fork()
    except OSError:  # no more processes: what is told so is worth less than the work
        watcher = None
    if watcher == 0:
        os.close(say)
        _wait(said)
    os.close(said)
    try:
        yield
    finally:
        with suppress(OSError):
            os.write(say, b".")
        os.close(say)
        if watcher:
            with suppress(OSError):
                os.waitpid(watcher, 0)


def _wait(said: int) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a whole group may get them
        signal.signal(number, signal.SIG_IGN)
    for file in (0, 1):
        with suppress(OSError):
            os.close(file)
    with suppress(OSError):
        if not os.read(said, 1):
            os.write(2, _WORDS.encode())
    os._exit(0)
