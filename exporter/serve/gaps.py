"""``/gaps``: columns and objects that have a tag, and no policy. A tag that says who owns a table needs none."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from flask import Blueprint, render_template

from exporter.ask.answers import LIST, Answer
from exporter.errors import ExporterError
from exporter.serve.forms import table
from exporter.serve.lineage.picture import parts
from exporter.serve.notes import not_ready

if TYPE_CHECKING:
    from exporter.serve.site import Site

SENSITIVE: Final = ("*PII*", "*GDPR*", "*PHI*", "*SENSITIVE*")
"""Names of tags that need a policy, in any letter case, where ``serve.sensitive_tags`` gives none. In addition, by
default: the tags on which a masking policy was ever set.
"""
QUESTION: Final = "policy-coverage"
_WAIT: Final = 1.5


def is_gap(site: Site, row: dict[str, str | None], *, sensitive: bool) -> bool:
    """Whether a row of ``policy-coverage`` has no policy, and has a sensitive tag, or only others."""
    names = {tag.partition("=")[0].strip() for tag in (row["tags"] or "").split(LIST)}
    return not row["policies"] and any(is_sensitive(site, name) for name in names) == sensitive


def is_sensitive(site: Site, tag: str) -> bool:
    """Whether a tag needs a policy: by the last part of its name, or by all of it where the pattern has a dot."""
    patterns = site.sensitive_tags or SENSITIVE
    last = parts(tag)[-1].strip('"').upper()
    is_named = any(fnmatchcase(tag.upper() if "." in pattern else last, pattern.upper()) for pattern in patterns)
    return is_named or (not site.sensitive_tags and tag in masked_tags(site))


def masked_tags(site: Site) -> set[str]:
    """The tags on which a masking policy was ever set."""
    return {row["object_name"] or "" for row in site.rows("page-masked-tags", most=10_000)}


def sensitive_tags_sentence(site: Site) -> str:
    """Which tags count as sensitive, in words."""
    patterns = f"with a name like {', '.join(site.sensitive_tags or SENSITIVE)}"
    return f"Tags {patterns}" + ("." if site.sensitive_tags else ", and those on which a masking policy was ever set.")


def gaps(site: Site) -> Blueprint:
    """``/gaps``."""
    routes = Blueprint("gaps", __name__)

    @routes.get("/gaps")
    def show() -> str:
        try:
            answer = site.ask_meanwhile(QUESTION, {}, _WAIT)
        except TimeoutError:
            return render_template("gaps.html", sensitive=sensitive_tags_sentence(site), problem=not_ready())
        except ExporterError as error:
            return render_template("gaps.html", sensitive=sensitive_tags_sentence(site), problem=error)
        gap_tables = {
            title: table(
                site, replace(part(site, answer, sensitive=is_sensitive_part), notes=[])
            )  # they are above both parts
            for title, is_sensitive_part in (("Sensitive", True), ("Other tags", False))
        }
        return render_template(
            "gaps.html", sensitive=sensitive_tags_sentence(site), gap_tables=gap_tables, notes=answer.notes
        )

    return routes


def part(site: Site, answer: Answer, *, sensitive: bool) -> Answer:
    """The rows of ``policy-coverage`` that are gaps."""
    rows = [
        row for row in answer.rows if is_gap(site, dict(zip(answer.columns, row, strict=True)), sensitive=sensitive)
    ]
    return Answer(answer.columns, rows, [] if rows else answer.notes)
