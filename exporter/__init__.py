"""Export Snowflake ACCESS_HISTORY to OpenLineage events and a PROV graph, validated before it is published.

For scripts: :func:`export`, :class:`Graph`, :func:`push` (docs/python.md), and the errors.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from exporter.version import __version__

if TYPE_CHECKING:
    from exporter.api import Graph, export, push
    from exporter.errors import ExporterError, RefusedError, UsageError

__all__ = ["ExporterError", "Graph", "RefusedError", "UsageError", "__version__", "export", "push"]


def __getattr__(name: str) -> Any:
    """The names for scripts are imported when they are used: a module of the program does not need the others."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("exporter.errors" if name.endswith("Error") else "exporter.api"), name)
