"""The jobs of queries and of their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.openlineage.kin import PARENT, ROOT
from exporter.openlineage.naming import UNRECORDED_JOB, job, job_name
from exporter.openlineage.sql import only_if, sorted_set
from exporter.sql import let, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings


def with_unlisted(queries: DataFrame) -> DataFrame:
    """The queries with ``read`` and ``wrote``, the datasets that are inputs and outputs, and ``unlisted``: those inputs
    that the view does not list but names as the source of a column. A backend drops an edge from what is no input.
    """
    known = queries.selectExpr("*", f"{_identities('listed')} AS known", f"{_identities('outputs')} AS wrote")
    unlisted = f"IF(size(columns) > 0, array_except({_identities('columns')}, known), array())"
    found = known.selectExpr("*", f"{unlisted} AS unlisted")
    return found.selectExpr("*", "IF(size(unlisted) > 0, sort_array(concat(known, unlisted)), known) AS read")


def _identities(datasets: str) -> str:
    return f"transform({datasets}, d -> struct(d.namespace AS namespace, d.name AS name))"


def with_jobs(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The queries with ``job_name``, ``parent_job`` and ``root_job``: the names of the relatives' jobs.

    A relative's job has the name under which it is sent; all those that have no row have one.
    """
    subjects = sorted_set("concat(changes.subject, routines.subject)")
    own = job(_prefixes("query", settings), sorted_set("changes.verb"), "read", "wrote", subjects)
    jobs = f"array({own}, {_relative(PARENT, settings)}, {_relative(ROOT, settings)})"
    named = queries.selectExpr("*", f"transform({jobs}, job -> {job_name('job')}) AS names")
    has_parent = "query.parent_query_id IS NOT NULL AND query.parent_query_id <> query_id"
    has_root = f"{has_parent} AND query.root_query_id IS NOT NULL"
    other = literal(UNRECORDED_JOB)
    return named.selectExpr(
        "*",
        "names[0] AS job_name",
        f"{only_if(has_parent, f'coalesce(names[1], {other})')} AS parent_job",
        f"{only_if(has_root, f'coalesce(names[2], {other})')} AS root_job",
    )


def _relative(role: str, settings: OpenLineageSettings) -> str:
    """A relative's job, null where it has no row."""
    sets = (sorted_set(f"r.{name}") for name in ("verb", "input", "output", "subject"))
    named = only_if("array_max(r.query) IS NOT NULL", job(_prefixes("array_max(r.query)", settings), *sets))
    return let("r", f"filter(kin, k -> k.role = '{role}')", named)


def _prefixes(query: str, settings: OpenLineageSettings) -> str:
    """What of QUERY_HISTORY goes before a job's name, as an array without nulls."""
    given = ", ".join(f"nullif({query}.{name}, '')" for name in settings.job_name_from)
    return f"array_compact(array({given}))" if given else "CAST(array() AS array<string>)"
