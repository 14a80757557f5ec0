"""A cache of Spark's classes, so that Java starts a session in half the time.

Java can write the classes that a process has loaded to a file when the process ends, and later processes map this file
into their memory (class data sharing). Only public options of Java are used. Java compares the file with itself and
with Spark's jars when it starts, and does not use it if they differ.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark

OWN_CLASSES: Final = (
    "HADOOP_CONF_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_HOME",
    "YARN_CONF_DIR",
)
"""Variables by which users give Java other options or other classes, which the file would not fit. Also, Java makes no
such file if there are folders of settings among the places of classes.
"""
_AGAIN: Final = 86_400
"""Seconds until another process tries to write the file, if an earlier one has begun to. Java does it after the end of
the program, in ten seconds or more, and is killed before if a container ends with the program.
"""
_UNUSED: Final = 30 * 86_400
"""Seconds after which the file of another Java or another Spark is removed: it has some 165 MB."""
# Java writes warnings to standard output, which belongs to the user. A session sends standard error to its log file.
_LOG: Final = "-Xlog:disable -Xlog:all=warning:stderr"
_is_plain = re.compile(r"[\w./+@-]+").fullmatch


def options() -> str:
    """Java's options that use the cache if it exists, and otherwise write it when the session ends. Empty if there can
    be no cache, or if another process has begun to write it.
    """
    archive = _archive()
    if archive is None:
        return ""
    if _is_complete(archive):
        return f" {_LOG} -XX:+VerifySharedSpaces -XX:SharedArchiveFile={archive}"
    return f" {_LOG} -XX:ArchiveClassesAtExit={archive}" if _begins(archive) else ""


def forget() -> None:
    """Remove the cache, because Java does not start with it."""
    archive = _archive()
    if archive is not None:
        with suppress(OSError):
            archive.unlink()


def _is_complete(archive: Path) -> bool:
    """Java writes the first bytes last, so a file that was not finished begins with zeros."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except OSError:
        return False


def _archive() -> Path | None:
    """The file for this Java and this Spark; None if there can be none."""
    java = shutil.which(Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java")
    if java is None or any(os.environ.get(name) for name in OWN_CLASSES):
        return None
    try:
        parts = [_identity(Path(java).resolve()), _identity(Path(pyspark.__file__).resolve().parent / "jars")]
        folder = _folder()
    except (OSError, RuntimeError):  # no home, or a folder that cannot be written to
        return None
    # The path becomes one of several options in a text, which has rules of its own for spaces and quotes.
    if folder is None or not _is_plain(str(folder)):
        return None
    return folder / f"spark-{sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def _identity(path: Path) -> tuple[str, int, int]:
    """What changes if another version is installed in the same place."""
    about = path.stat()
    return str(path), about.st_size, about.st_mtime_ns


def _folder() -> Path | None:
    """The user's folder for caches; None if others could put a file there, since Java runs what is in it."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(caches) if Path(caches).is_absolute() else Path.home() / ".cache") / "access-history-exporter"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    return folder if about.st_uid == os.geteuid() and not about.st_mode & 0o022 else None


def _begins(archive: Path) -> bool:
    """Whether this process is to write the file: then the others will not, for a day."""
    begun = archive.with_suffix(".begun")
    now = time.time()
    try:
        if begun.exists() and now - begun.stat().st_mtime < _AGAIN:
            return False
        begun.touch()
        for file in archive.parent.glob("spark-*"):
            if now - file.stat().st_mtime > _UNUSED:
                file.unlink()
    except OSError:  # such as a disk that is full, or another process that does the same
        return False
    return True
