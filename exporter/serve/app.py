"""The Flask application: its addresses and the functions that answer them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from flask import Flask, render_template
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from exporter.errors import ExporterError
from exporter.serve import tables
from exporter.serve.forms import forms, own_query
from exporter.serve.guards import protect
from exporter.serve.lineage.page import PATH, lineage_page
from exporter.serve.objects import objects
from exporter.serve.pages import pages
from exporter.serve.protocol import LARGEST, answered_with, endpoint
from exporter.serve.queries import queries

if TYPE_CHECKING:
    from exporter.serve.site import Site, Thing

_after_marks: Final = re.compile(r"[^._/]*[._/]?").findall
OWN_QUESTIONS: Final = Path(__file__).parent / "queries"
"""The questions that only pages ask, in addition to the shipped ones."""


def make(site: Site, host: str) -> Flask:
    """The application with the pages and the endpoint, for a server that listens at ``host``."""
    app = Flask(__name__)
    app.config.update(MAX_CONTENT_LENGTH=LARGEST, MAX_FORM_MEMORY_SIZE=LARGEST)
    protect(app, host)
    app.register_blueprint(endpoint(site))
    for part in (pages, objects, queries, forms, own_query):
        app.register_blueprint(part(site))
    lineage_page(app, site)
    _prepare_templates(app, site)

    @app.errorhandler(NotFound)
    def no_page(_: NotFound) -> tuple[str, int]:
        return render_template("error.html", title="No such page", why="There is no page at this address."), 404

    @app.errorhandler(ExporterError)
    def no_answer(error: ExporterError) -> tuple[str, int, dict[str, str]]:
        return render_template("error.html", title="There is no answer", why=error), *answered_with(error)

    return app


def _prepare_templates(app: Flask, site: Site) -> None:
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}

    def lineage_href(thing: Thing, column: str | None = None) -> str:
        told = {"id": site.path(thing.iri), **({} if column is None else {"column": column})}
        return f"{PATH}/?{urlencode(told)}"

    app.jinja_env.globals.update(site=site, lineage_href=lineage_href)
    app.jinja_env.filters.update(
        words=tables.words, heading=tables.heading, time=tables.time, thousands=_thousands, breakable=_breakable
    )


def _breakable(text: str) -> Markup:
    """Text in which lines may break after the separators in names."""
    return Markup("<wbr>").join(_after_marks(text))


def _thousands(number: Any) -> str:
    return f"{int(number):,}"
