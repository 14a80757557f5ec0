"""What the documentation's site adds to MkDocs: pages from outside of docs/, and links that lead out of the site.

Files are written for readers of the repository. So README.md links to docs/graph.md, and docs/graph.md to ../shapes. On
the site the first becomes a link between pages, and the second, which has no page, the name of the folder.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_ROOT: Final = Path(__file__).parents[1]
_PAGES: Final = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "deploy/README.md": "deploy.md",
    "examples/company-month/README.md": "company-month.md",
}
"""Files of the repository, from its top -> pages of the site."""
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages from outside of docs/."""
    for source, page in _PAGES.items():
        files.append(File.generated(config, page, content=(_ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs'
    """Links as the site has them."""
    at = _place(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        mark, text, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, hash_, anchor = target.partition("#")
        to = _page(posixpath.normpath(posixpath.join(posixpath.dirname(at), path)))
        if to is None or files.get_file_from_path(to) is None:
            return text
        return f"{mark}[{text}]({posixpath.relpath(to, posixpath.dirname(page.file.src_uri) or '.')}{hash_}{anchor})"

    return _LINK.sub(link, markdown)


def _place(page: str) -> str:
    """Where a page's file is in the repository."""
    return next((source for source, name in _PAGES.items() if name == page), f"docs/{page}")


def _page(path: str) -> str | None:
    """The page of a file of the repository, None where it has none."""
    if path in _PAGES:
        return _PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None
