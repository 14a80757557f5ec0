"""The errors of the program. Each message says what failed, where, and what to do.

::

    ExporterError          exit 4   a fault of the program or of its environment (messages: exporter/system/faults.py)
    ├── UsageError         exit 2   arguments, settings or input that cannot be used
    ├── SilentError        exit 3   a backend does not answer
    └── RefusedError       exit 1   the shapes refused output, rows were quarantined under --strict, a check has rows
"""

from __future__ import annotations

from typing import ClassVar


class ExporterError(Exception):
    """The base class. The message is for the person who runs the program."""

    exit_code: ClassVar[int] = 4


class UsageError(ExporterError):
    """Arguments, settings or input that cannot be used; nothing was written."""

    exit_code = 2


class RefusedError(ExporterError):
    """The shapes refused the output, rows were quarantined under ``--strict``, or a question that should have no rows
    has some (``--fail-on-rows``).
    """

    exit_code = 1


class SilentError(ExporterError):
    """A backend does not answer; nothing was sent to it."""

    exit_code = 3
