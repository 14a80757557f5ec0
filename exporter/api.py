"""The exporter from Python: what the commands ``export``, ``query`` and ``push`` do, as functions of the package.

>>> from tempfile import TemporaryDirectory
>>> from exporter import Graph, export
>>> rows, folder = "examples/02-read-view/access_history.json", TemporaryDirectory()
>>> report = export(rows, f"{folder.name}/out", account="MYORG-ACCOUNT1", engine="local")
>>> report.rows_in, report.exported, report.quarantined
(2, 2, 0)
>>> with Graph(f"{folder.name}/out") as graph:
...     graph.ask("user-history", user_name="ANALYST").columns
...     graph.sparql("PREFIX ah: <https://w3id.org/access-history#> ASK { ?query a ah:Query }").rows
('user_name', 'query_id', 'query_start_time', 'direct_objects', 'base_objects')
[('true',)]
>>> folder.cleanup()

Every error is an :class:`exporter.errors.ExporterError`: a :class:`~exporter.errors.UsageError` for settings, input,
questions and addresses that cannot be used, else a fault of the program or of its environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.ask.questions import Graph
from exporter.cli import configuration, messages
from exporter.errors import ExporterError, UsageError, described
from exporter.settings import Settings
from exporter.system import faults, files
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from exporter.backends.command import Pushed
    from exporter.publish.report import Report

__all__ = ["SETTINGS", "Graph", "export", "push"]

_OTHERS: Final = ("pseudonyms", "since", "until")
_APART: Final = ("inputs", "out", "openlineage", "privacy", "validate")
SETTINGS: Final = (*(field.name for field in fields(Settings) if field.name not in _APART), *_OTHERS)
"""The names of the settings that :func:`export` takes, those of the command's options (docs/interface.md)."""


def export(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
    **settings: Any,
) -> Report:
    """Rows to a published folder, as ``exporter export``. Returns the report; ``report.violations`` and
    ``report.quarantined`` say what was refused.

    ``inputs``: files, folders, globs, or a table of Spark. ``out``: the folder to write, a path or a URI. ``config``: a
    file of settings in TOML. ``warn``: receives the warnings that the command prints, one line each. ``settings``: any
    of :data:`SETTINGS`, with priority over the environment and the file; None means not given. Values have the types
    of :class:`~exporter.settings.Settings`; a path may be a Path, a day or time a date or datetime.

    Raises UsageError for settings and input that cannot be used, RefusedError where ``forget_user`` names a user whom
    the rows do not have, ExporterError for faults. An error leaves ``out`` unchanged.
    """
    from exporter.engines.export import export as run  # noqa: PLC0415 - a script that only asks a graph needs no Spark

    _require_known(settings, SETTINGS)
    _require_function(warn)
    chosen = configuration.load({"inputs": inputs, "out": out, **settings}, _file_of(config))
    with _faults_as_errors():
        return run(chosen, Progress(), warn, hints=settings.get("engine") is None)


def push(
    folder: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = lambda _: None,
    **choices: Any,
) -> Pushed:
    """Sends the events of an export to the backends that OpenLineage's client is configured for, as ``exporter push``.
    Returns the counts; ``is_complete`` says whether everything was delivered.

    ``choices``: ``runs``, ``profile``, ``letter_case``, ``concurrency``, ``rate`` (events a second), ``patience``
    (seconds). ``config``: a file of settings, of which the table ``[push]`` is read. ``warn``: receives the messages
    that the command prints, one line each, some in other threads. Raises UsageError where the folder has no events, no
    backend is configured, or a choice cannot be used, and KeyboardInterrupt after Ctrl-C, once what was on its way has
    arrived: what was delivered is recorded, and the next push continues from there.
    """
    from exporter.backends.command import deliver  # noqa: PLC0415 - only who pushes needs a client
    from exporter.backends.profiles import PushOptions  # noqa: PLC0415 - slow to import; export does not need it

    _require_known(choices, [field.name for field in fields(PushOptions)])
    _require_function(warn)
    path = Path(files.path_of("folder", folder))
    pushed = deliver(path, configuration.load_push(choices, _file_of(config)), warn)
    if pushed.interrupted:
        raise KeyboardInterrupt
    return pushed


def _file_of(config: str | os.PathLike[str] | None) -> Path | None:
    return None if config is None else Path(files.path_of("config", config))


@contextmanager
def _faults_as_errors() -> Iterator[None]:
    """Turns faults of the program and of its environment into an ExporterError, as the command reports them."""
    try:
        yield
    except ExporterError:
        raise
    except Exception as fault:  # scripts catch one tree of errors
        raise faults.kind(fault)(messages.fault(fault, "nothing was published")) from fault


def _require_function(warn: object) -> None:
    if not callable(warn):
        raise UsageError(f"warn must be a function that takes a line, but is {described(warn)}")


def _require_known(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises UsageError for names of settings that there are not."""
    unknown = set(given) - set(known)
    if unknown:
        raise UsageError(f"{', '.join(sorted(unknown))}: no such setting; there are {', '.join(sorted(known))}")
