"""Whether a statement copied only an aggregate of a column, by its SQL text.

Rows do not say what a statement did with a column. Its text does, where QUERY_HISTORY has it and the export keeps it.
sqlglot reads it, by the grammar of Snowflake, and follows a column through subqueries and common table expressions.

An aggregate is what adds up, counts or averages many rows. ``MIN``, ``MAX``, ``ANY_VALUE``, ``MEDIAN``, ``LISTAGG`` and
the like give values of single rows, and so does a window function for a window of one row: they are none here.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sqlglot import exp, parse_one
from sqlglot.dialects import Snowflake
from sqlglot.lineage import Node, lineage

from exporter.model.identifiers import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# It would write parts of a text that it does not know to standard error, and SQL text is personal data.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL + 1)

_AGGREGATES: Final = (
    *(exp.Count, exp.CountIf, exp.ApproxDistinct, exp.Hll, exp.Sum, exp.Avg),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp),
)


def is_aggregated(text: str, target: str, source_object: str, source: str) -> bool | None:
    """Whether the statement filled its column ``target`` only from aggregates of the column ``source`` of
    ``source_object``, each as rows name them. None: the text does not say so, or is not understood.
    """
    table = (parts_of(source_object) or [""])[-1]
    try:
        begun = _projection(text, target)
        found = None if begun is None else [*_uses(begun, _bare(table), _bare(source), is_inside=False)]
    except Exception:  # noqa: BLE001 - what a parser makes of any text that a user wrote
        return None
    return all(found) if found else None


@lru_cache(maxsize=64)
def _projection(text: str, target: str) -> Node | None:
    """The expression that the statement puts into the column; None if it has none of that name."""
    statement = parse_one(text, dialect=Snowflake)
    if not isinstance(statement, exp.Insert | exp.Create) or not isinstance(statement.expression, exp.Query):
        return None
    query = statement.expression.copy()
    if statement.args.get("with_"):
        query.set("with_", statement.args["with_"].copy())
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return None
    listed = statement.this.expressions if isinstance(statement.this, exp.Schema) else first.selects
    names = [_bare(one.alias_or_name) for one in listed]
    if names.count(_bare(target)) != 1 or len(listed) != len(first.selects):
        return None
    place = names.index(_bare(target))
    # Names of our own, since the statement may give none, or one twice.
    selects = [exp.alias_(one.unalias(), f"C{number}") for number, one in enumerate(first.selects)]
    first.set("expressions", selects)
    return lineage(f"C{place}", query, schema={}, dialect=Snowflake)


def _uses(node: Node, table: str, column: str, *, is_inside: bool) -> Iterator[bool]:
    """For each use of the column by an expression, and by what it selects from: whether it is inside an aggregate."""
    for below in node.downstream:
        used = exp.to_column(below.name, dialect=Snowflake)
        if not isinstance(used, exp.Column):
            continue
        # One without a table is left so in some places by the reader.
        places = [
            one
            for one in node.expression.find_all(exp.Column)
            if one.name == used.name and one.table in (used.table, "")
        ]
        inside = is_inside or (bool(places) and all(_is_inside(one) for one in places))
        if isinstance(below.source, exp.Table) and not below.downstream:
            if (_bare(below.source.name), _bare(used.name)) == (table, column):
                yield inside
        else:
            yield from _uses(below, table, column, is_inside=inside)


def _is_inside(column: exp.Expression) -> bool:
    above = column.find_ancestor(*_AGGREGATES, exp.Query)
    return isinstance(above, _AGGREGATES) and not isinstance(above.parent, exp.Window)


def _bare(name: str) -> str:
    """A name to compare, without quotes and in one letter case: rows often give a name without its quotes."""
    return name.strip('"').upper()
