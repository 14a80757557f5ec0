"""One file with a result, where the user says: a report, declared lineage, a filled data contract.

It appears complete or not at all, and is for its owner alone. A file that is there already is replaced only if the
program wrote it: a mistyped name must not cost somebody a file, and the folder of an export must not lose its own.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from exporter.errors import ExporterError, UsageError
from exporter.publish.manifest import refuse_in_export
from exporter.system import files
from exporter.system.faults import OF_FULL_DISK

_MOST: Final = 16 << 20
"""The bytes of a file by which it is known."""


def check(out: Path, is_own: Callable[[bytes], bool], what: str) -> None:
    """Raises UsageError where the file cannot be written, or would replace one that is not the program's. ``is_own``:
    whether the beginning of a file is that of one that the program wrote; ``what``: such a file, in words.
    """
    target, mode = _place(out), _mode(out)
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"--out {out}: is a folder; give a file")
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(f"--out {out}: is a pipe or a device; give a file")
    if not target.parent.is_dir():
        raise UsageError(f"--out {out}: cannot be written: its folder does not exist")
    refuse_in_export(f"--out {out}", target.parents)
    if mode is None:
        return
    try:
        data = files.read(target, _MOST)
    except OSError as error:
        raise UsageError(f"--out {out}: is there already and cannot be read: {error.strerror}") from None
    if data and not is_own(data):
        raise UsageError(f"--out {out}: is there already and is not {what}. Remove it, or give another --out")


def save(out: Path, text: str) -> None:
    """Writes the file; one that is there is replaced, and a link to it stays. Raises ExporterError where the disk is
    full, UsageError where it cannot be written for another reason.
    """
    target, temporary = _place(out), ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(temporary).replace(target)
    except OSError as error:
        raised = ExporterError if error.errno in OF_FULL_DISK else UsageError
        raise raised(f"--out {out}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary:
            with suppress(FileNotFoundError):
                Path(temporary).unlink()


def _place(out: Path) -> Path:
    return Path(os.path.realpath(out))


def _mode(out: Path) -> int | None:
    """What is at a path, also by a link; None if nothing is. A link that leads in a circle counts as no file."""
    try:
        return out.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError:
        return 0
