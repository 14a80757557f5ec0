"""What there is: databases, schemas and objects as a tree, and lists of users, queries and each kind of object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from flask import Blueprint, abort, render_template, request, url_for

from exporter.errors import ExporterError
from exporter.serve.forms import table
from exporter.serve.notes import not_ready
from exporter.serve.protocol import status_and_headers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flask.typing import ResponseReturnValue

    from exporter.serve.site import Site

_WAIT: Final = 1.5
"""Seconds that a list waits for its answer."""
_MOST_SCHEMAS: Final = 20_000
_IN_TREE: Final = frozenset({"Database", "Schema"})
NAMES: Final = "Part of the name"


class Filter(NamedTuple):
    """A filter field of a list: the parameter, the label, and the type of the input."""

    name: str
    label: str
    kind: str = "search"


_QUERIES: Final = (
    Filter("text", "Part of the id, or of the SQL where it was kept"),
    Filter("user", "User"),
    Filter("type", "Type, such as INSERT"),
    Filter("since", "Since", "date"),
    Filter("until", "Until", "date"),
)


def browse(site: Site) -> Blueprint:
    """``/browse`` and the lists below it."""
    routes = Blueprint("browse", __name__, url_prefix="/browse")

    @routes.get("/")
    def tree() -> str:
        databases: dict[str, list[Mapping[str, str | None]]] = {}
        for row in site.rows("page-tree", most=_MOST_SCHEMAS):
            databases.setdefault(row["database_name"] or row["schema_name"] or "", []).append(row)
        kinds = [row for row in site.rows("page-kinds") if row["kind"] not in _IN_TREE]
        return render_template("tree.html", databases=databases, kinds=kinds)

    @routes.get("/schema")
    def schema() -> ResponseReturnValue:
        thing = site.thing(site.iri(request.args.get("id", "")))
        if thing is None:
            abort(404)
        title = f"Objects in {thing.name or thing.iri}"
        return _listed(site, title, "page-objects", [Filter("text", NAMES)], {"schema": thing.iri})

    @routes.get("/objects")
    def objects() -> ResponseReturnValue:
        kinds = request.args.getlist("kind")
        title = f"Objects: {', '.join(kinds)}" if kinds else "All objects"
        return _listed(site, title, "page-objects", [Filter("text", NAMES)], {"kind": kinds} if kinds else {})

    @routes.get("/users")
    def users() -> ResponseReturnValue:
        return _listed(site, "Users", "page-users", [Filter("text", NAMES)], {})

    @routes.get("/queries")
    def queries() -> ResponseReturnValue:
        return _listed(site, "Queries", "page-queries", _QUERIES, {})

    @routes.app_template_global()
    def policies_href() -> str:
        """The list of policies: all kinds of them that there are."""
        kinds = [row["kind"] for row in site.rows("page-kinds") if (row["kind"] or "").endswith(" Policy")]
        return url_for("browse.objects", kind=kinds or ["Masking Policy", "Row Access Policy"])

    return routes


def _other_fields(filters: Sequence[Filter]) -> list[tuple[str, str]]:
    """The fields of the address that the form does not have."""
    shown_fields = {list_filter.name for list_filter in filters}
    return [(name, value) for name, value in request.args.items(multi=True) if name not in shown_fields]


def _listed(
    site: Site, title: str, question: str, filters: Sequence[Filter], fixed: Mapping[str, str | Sequence[str]]
) -> ResponseReturnValue:
    """A list with its filters; ``fixed``: parameters that no filter sets."""
    values = {list_filter.name: request.args.get(list_filter.name, "") for list_filter in filters}
    params = {**fixed, **{name: value for name, value in values.items() if value}}
    context = {
        "title": title,
        "filters": [(list_filter, values[list_filter.name]) for list_filter in filters],
        "other_fields": _other_fields(filters),
    }
    try:
        answer = site.ask_meanwhile(question, params, _WAIT, of_form=True)
    except TimeoutError:
        return render_template("list.html", **context, problem=not_ready())
    except ExporterError as error:
        return render_template("list.html", **context, problem=error), *status_and_headers(error)
    return render_template("list.html", **context, answer=table(site, answer), empty=_empty(site, filters, values))


def _empty(site: Site, filters: Sequence[Filter], values: Mapping[str, str]) -> str:
    """What a list without rows says: also which filters there are, and what they cannot find."""
    set_filters = [
        f"{list_filter.label} = {values[list_filter.name]}" for list_filter in filters if values[list_filter.name]
    ]
    if not set_filters:
        return site.no_row("shows one")
    unknown = [_CANNOT_FIND[name] for name, value in values.items() if value and name in _CANNOT_FIND]
    return " ".join([f"{site.no_row('shows one')[:-1]} with these filters: {'; '.join(set_filters)}.", *unknown])


_CANNOT_FIND: Final = {"type": "Only queries with a line of QUERY_HISTORY have a type."}
