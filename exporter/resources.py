"""The files that the program reads at work: shapes, ontology, questions; from the checkout or from the installed package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent


def shapes_dir() -> Path:
    """The SHACL shapes."""
    return _find("shapes")


def ontology_dir() -> Path:
    """The ontology."""
    return _find("ontology")


def queries_dir() -> Path:
    """The shipped questions."""
    return _find("examples/queries")


def _find(name: str) -> Path:
    installed = _PACKAGE / "data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
