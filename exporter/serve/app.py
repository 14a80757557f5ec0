"""The addresses of the server, and what answers at each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from flask import Flask

from exporter.serve.guards import protect
from exporter.serve.protocol import endpoint

if TYPE_CHECKING:
    from exporter.graph.ask.pool import Pool

OWN_QUESTIONS: Final = Path(__file__).parent / "queries"
"""The questions that only pages ask, beside the shipped ones."""


def make(host: str, sparql: Pool) -> Flask:
    """The pages and the endpoint of a server that listens at ``host``."""
    app = Flask(__name__, static_url_path="/static")
    protect(app, host)
    app.register_blueprint(endpoint(sparql))
    return app
