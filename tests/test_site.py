"""The documentation site and its picture, without MkDocs; ``bin/docs`` builds the site."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_picture_is_what_its_source_draws() -> None:
    source = DOCS / "pictures" / "overview.py"
    assert (DOCS / "pictures" / "overview.svg").read_text("utf-8") == runpy.run_path(str(source))["picture"]()


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r": ([\w/-]+\.(?:md|html))$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    pages = {str(path.relative_to(DOCS)) for kind in ("*.md", "*.html") for path in DOCS.rglob(kind)}
    assert pages - listed == set(), "add these pages to nav in mkdocs.yml"
