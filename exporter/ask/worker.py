"""Answers one question in a process of its own, which can be ended at any time and cannot reach anything else.

:mod:`exporter.ask.limited` starts it and exchanges messages with it. Once the graph is loaded, it opens no file
and no connection, and takes little more memory than the graph does.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import msgspec

from exporter.ask.limited import Asked, Begun, End, Failed, Head, Told, receive
from exporter.ask.questions import answer
from exporter.errors import UsageError

if TYPE_CHECKING:
    from exporter.ask.answers import Answer

_MOST_FILES: Final = 1_000
"""How many files of a store may be open where the system does not say how many are."""
_MARGIN: Final = 10
"""Seconds of CPU beyond the time limit after which the process ends by itself, if nobody ended it."""


_encode: Final = msgspec.json.Encoder().encode


def main() -> None:
    """Answers the question on standard input."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    request = receive(sys.stdin.buffer)
    if request is None:
        return
    asked = msgspec.msgpack.decode(request, type=Asked)
    question, graph = os.fsdecode(asked.question), Path(os.fsdecode(asked.graph))
    try:
        _give(answer(question, graph, asked.params, asked.rows, partial(_begin, asked)))
    except BrokenPipeError:
        os._exit(0)
    except UsageError as error:
        _tell(Failed(str(error), is_usage=True))
    except MemoryError:
        os.abort()  # as the engine does where it gets none: who started this process says so
    except Exception as error:  # noqa: BLE001 - a fault is told in words, by who started this process
        _tell(Failed(f"{type(error).__name__}: {error}", is_usage=False))


def end_with_parent() -> None:
    """From here on this process ends at once, also while it computes an answer, when the one that started it has ended
    and the system has closed the pipe at standard input. Call it before :func:`confine`, since it starts a thread.
    """
    Thread(target=_end_at_hang_up, daemon=True).start()


def _end_at_hang_up() -> None:
    pipe = select.poll()
    pipe.register(sys.stdin.fileno(), 0)  # no messages, which others read: the end of the pipe is always told
    pipe.poll()
    os._exit(1)


def _begin(asked: Asked, store: Path | None) -> None:
    _confine(asked, store)
    _tell(Begun())


def _give(found: Answer) -> None:
    _tell(Head(found.columns, found.notes))
    sys.stdout.buffer.writelines(_encode(row) + b"\n" for row in found.rows)
    _tell(End())


def _tell(what: Told) -> None:
    sys.stdout.buffer.write(_encode(what) + b"\n")
    sys.stdout.buffer.flush()


def _confine(asked: Asked, store: Path | None = None) -> None:
    confine(asked.memory, store)
    limit_time(asked.seconds)


def confine(memory: int, store: Path | None = None) -> None:
    """From here on this process opens no files, and takes no more than ``memory`` bytes. A store on disk opens its
    files when they are first read, and hangs where it cannot: so as many files as it has may be opened. Memory is
    limited where the system reports how much is used (Linux).
    """
    limits = {resource.RLIMIT_NOFILE: _files(store), resource.RLIMIT_CORE: 0}
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        limits[resource.RLIMIT_AS] = int(pages) * resource.getpagesize() + memory
    for what, most in limits.items():
        hard = resource.getrlimit(what)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, allowed))


def _files(store: Path | None) -> int:
    """How many files may be open: those that are open now, and those of a store, if there is one."""
    if store is None:
        return 0
    with suppress(OSError):
        return 1 + max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + sum(1 for _ in store.glob("*.sst"))
    return _MOST_FILES


def limit_time(seconds: float) -> None:
    """Ends this process when it has worked for much longer than ``seconds`` from now and the parent did not end it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + _MARGIN
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
