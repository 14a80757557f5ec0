"""The folders of shapes, ontology and questions: beside the code in a checkout, inside the package in a wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent


def shapes_dir() -> Path:
    """The folder of the SHACL shapes, ``*.ttl``."""
    return _folder("shapes", in_checkout="shapes")


def ontology_dir() -> Path:
    """The folder of the ontology, its context and its alignments."""
    return _folder("ontology", in_checkout="ontology")


def queries_dir() -> Path:
    """The folder of the shipped questions, ``*.rq``."""
    return _folder("queries", in_checkout="examples/queries")


def _folder(name: str, *, in_checkout: str) -> Path:
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / in_checkout
