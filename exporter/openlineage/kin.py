"""Pieces of parents and roots, handed down to the queries that name them.

A backend knows a parent by the name that it was sent under (Marquez makes a second job of any other name), so a child
has to spell the name of its parent's job. That name follows from what the parent read and wrote; its pieces go to each
child under a role, and the same rule names the job there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.openlineage.pieces import CHANGE, COLUMN, INPUT, OUTPUT, QUERY, ROUTINE
from exporter.sql import literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

OWN, PARENT, ROOT = "OWN", "PARENT", "ROOT"
_NAMING: Final = (QUERY, INPUT, OUTPUT, COLUMN, ROUTINE, CHANGE)
"""The parts that a job's name follows from."""


def with_roles(pieces: DataFrame, facts: Facts) -> DataFrame:
    """The pieces with ``role``: each once as the query's OWN, and as PARENT or ROOT for every query below it."""
    kin = f"IF(part IN ({literals(_NAMING)}), coalesce(heirs, array()), array())"
    roles = f"concat(array(struct('{OWN}' AS role, query_id AS heir)), {kin})"
    told = pieces.join(_heirs(facts), ["account", "query_id"], how="left")
    columns = [name for name in pieces.columns if name != "query_id"]
    return told.selectExpr(*columns, f"inline({roles})").withColumnRenamed("heir", "query_id")


def _heirs(facts: Facts) -> DataFrame:
    """Account, query id, and the queries that name it as parent or root; a query is not its own parent."""
    relatives = (
        f"array(struct('{PARENT}' AS role, parent_query_id AS named), struct('{ROOT}' AS role, root_query_id AS named))"
    )
    children = facts.queries.filter("parent_query_id <> query_id")
    named = children.selectExpr("account", "query_id AS heir", f"inline({relatives})").filter("named IS NOT NULL")
    return named.groupBy("account", named["named"].alias("query_id")).agg(
        F.collect_list(F.struct("role", "heir")).alias("heirs")
    )
