"""The jobs of queries and of their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.openlineage.kin import PARENT, ROOT
from exporter.openlineage.naming import UNRECORDED_JOB, job_name
from exporter.openlineage.sql import let, only_if, sorted_set
from exporter.sql import literal

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
    """The queries with ``job_name``, ``parent_job`` and ``root_job``: the names of the relatives' jobs."""
    subjects = sorted_set("concat(changes.subject, routines.subject)")
    own = job_name(_prefixes("query", settings), sorted_set("changes.verb"), "read", "wrote", subjects)
    return queries.selectExpr(
        "*",
        f"{own} AS job_name",
        f"{_relative(PARENT, 'query.parent_query_id', settings)} AS parent_job",
        f"{_relative(ROOT, 'query.root_query_id', settings)} AS root_job",
    )


def _relative(role: str, query_id: str, settings: OpenLineageSettings) -> str:
    """The name of a relative's job: the one under which it is sent, or one for all those that have no row."""
    sets = (sorted_set(f"r.{name}") for name in ("verb", "input", "output", "subject"))
    named = job_name(_prefixes("array_max(r.query)", settings), *sets)
    is_recorded = "array_max(r.query) IS NOT NULL"
    of_role = f"filter(kin, k -> k.role = '{role}')"
    name = let("r", of_role, f"CASE WHEN {is_recorded} THEN {named} ELSE {literal(UNRECORDED_JOB)} END")
    return only_if(f"{query_id} IS NOT NULL AND query.parent_query_id <> query_id", name)


def _prefixes(query: str, settings: OpenLineageSettings) -> str:
    """What of QUERY_HISTORY goes before a job's name, as an array without nulls."""
    given = ", ".join(f"nullif({query}.{name}, '')" for name in settings.job_name_from)
    return f"array_compact(array({given}))" if given else "CAST(array() AS array<string>)"
