"""Sentences on pages: notes of answers, with their times in the form of the page and links to the queries they name."""

from __future__ import annotations

import re
from typing import Final

from flask import g, url_for
from markupsafe import Markup, escape

_TIME_OR_QUERY: Final = re.compile(
    r"(?P<time>\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"
    # Not as a part of a name or of a path.
    r"|(?P<query>(?<![\w./-])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/-]|\.\w))"
)

NOT_READY: Final = "The answer is not ready yet. The page loads again by itself until it is there."


def not_ready() -> str:
    """What a page says in the place of an answer that is not ready; a browser then loads the page again."""
    g.is_incomplete = True
    return NOT_READY


def is_incomplete() -> bool:
    """Whether the page lacks an answer that is not ready."""
    return bool(g.get("is_incomplete"))


def time(text: str) -> str:
    """A time of the graph to the second, in a form for people; all times are UTC.

    >>> time("2026-09-30T08:00:00Z"), time("2026-09-30T08:00:00.123Z"), time("never")
    ('2026-09-30 08:00:00', '2026-09-30 08:00:00', 'never')
    """
    return text[:19].replace("T", " ") if text[10:11] == "T" and text.endswith("Z") else text


def note(text: object, *, has_links: bool = True) -> Markup:
    """A note or message as HTML. ``has_links``: a report that is sent has no pages that a link could lead to.

    >>> note("the first <is> 2026-09-30T08:00:00.5Z", has_links=False)
    Markup('the first &lt;is&gt; <time title="2026-09-30T08:00:00.5Z">2026-09-30 08:00:00</time>')
    """
    message, end, parts = str(text), 0, list[Markup]()
    for match in _TIME_OR_QUERY.finditer(message):
        parts += [escape(message[end : match.start()]), _markup_of(match, has_links=has_links)]
        end = match.end()
    return Markup("").join([*parts, escape(message[end:])])


def _markup_of(match: re.Match[str], *, has_links: bool) -> Markup:
    if match["time"]:
        return Markup('<time title="{}">{}</time>').format(match[0], time(match[0]))
    if not has_links:
        return escape(match[0])
    return Markup('<a href="{}">{}</a>').format(url_for("queries.query", id=match[0]), match[0])
