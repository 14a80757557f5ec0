"""Paths as users give them: of this machine, or URIs of other file systems."""

from __future__ import annotations

import os
import re
from typing import Final

_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_remote(path: str) -> bool:
    """Whether it is the URI of another file system."""
    return bool(_REMOTE.match(path)) and not path.startswith("file:")


def shown(path: str) -> str:
    r"""A path as text; a byte that is not UTF-8 is written as ``\xff``."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def local(name: str) -> str:
    """The path without ``file:``."""
    return name.removeprefix("file://").removeprefix("file:")


def uri(path: str) -> str:
    """A path as a URI for Spark. Without a scheme, Spark would look in its default file system, which may be remote."""
    return path if is_remote(path) else f"file://{os.path.abspath(local(path))}"  # noqa: PTH100 - Path leaves ".." in it
