"""Report the end of a program that was killed or ran out of memory: a second process prints the message.

The second process waits at a pipe, which the system closes when the program ends.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS: Final = (
    "exporter: was killed, or memory has run out. The DIR of an export is the complete old or the complete new one; "
    "what a push delivered is recorded. Start it again, with more memory if memory has run out\n"
)


@contextmanager
def ends_told() -> Iterator[None]:
    """Print a message on standard error, from a second process, if this process ends within the block.

    Enter the block while there is only one thread, no open file and no lock, because the second process inherits them.
    """
    said, say = os.pipe()
    try:
        watcher = os.fork()
    except OSError:  # no further process is possible; the work itself is more important than this message
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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # sent to the whole process group
        signal.signal(number, signal.SIG_IGN)
    for file in (0, 1):
        with suppress(OSError):
            os.close(file)
    with suppress(OSError):
        if not os.read(said, 1):
            os.write(2, _WORDS.encode())
    os._exit(0)
