"""Whether a statement copied only an aggregate of a column, by its SQL text.

Rows do not say what a statement did with a column. Its text does, where QUERY_HISTORY has it and the export keeps it.
sqlglot parses it, by the grammar of Snowflake; then a column is followed through subqueries, set operations and common
table expressions.

An aggregate is what adds up, counts or averages many rows. ``MIN``, ``MAX``, ``ANY_VALUE`` and the like give values of
single rows, and so does a window function for a window of one row: they are none here.

To call a copy an aggregate that is none would hide it. So only expressions are followed of which each part is known
(:data:`_PARTS`): no other functions, no ``*``, no places such as ``$1``, no subqueries in expressions. Of everything
else the answer is that the text does not say.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.dialects import Snowflake
from sqlglot.optimizer.scope import Scope, build_scope

from exporter.model.identifiers import parts_of

# It would write parts of a text that it does not know to standard error, and SQL text is personal data.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL + 1)

_LONGEST: Final = 20_000
"""Characters of a text that is read: longer ones take long, and QUERY_HISTORY cuts at 100,000."""
_AGGREGATES: Final = (
    *(exp.Count, exp.CountIf, exp.ApproxDistinct, exp.Hll, exp.Sum, exp.Avg),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp),
)
_PARTS: Final = (
    *_AGGREGATES,
    *(exp.Alias, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Distinct),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.Not, exp.And, exp.Or),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Between, exp.Case, exp.If, exp.Coalesce),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Round, exp.Abs, exp.Floor, exp.Ceil, exp.Nullif),
    *(exp.Upper, exp.Lower, exp.Max, exp.Min, exp.AnyValue, exp.Window, exp.WindowSpec, exp.Order, exp.Ordered),
)
"""What an expression may consist of."""
_calls_by_quoted_name: Final = re.compile(r'"\w+"\s*\(').search
_Name = tuple[str, ...]
_Uses = dict[tuple[_Name, str], bool]
"""Table and column -> whether each use of it is inside an aggregate."""


class _UnknownError(Exception):
    """The SQL text does not show how the statement used a column."""


class _Copied(NamedTuple):
    """What a statement puts into its columns. ``columns``: their names, in the order of the selected expressions."""

    table: _Name
    columns: Sequence[str]
    scope: Scope
    results: dict[tuple[int, int], _Uses | None]


def is_aggregated(text: str, target: tuple[str, str], source: tuple[str, str]) -> bool | None:
    """Whether the statement filled its column only from aggregates of the column ``source``; each is the name of an
    object and that of a column of it, as rows have them. None: the text does not say so, or is not understood.
    """
    if len(text) > _LONGEST or _calls_by_quoted_name(text):
        return None
    try:
        copied = _read(text)
        if not _is_same(copied.table, _name(target[0])) or copied.columns.count(_bare(target[1])) != 1:
            return None
        uses = _uses(copied.scope, copied.columns.index(_bare(target[1])), copied.results)
    except Exception:  # noqa: BLE001 - what a parser makes of any text that a user wrote
        return None
    are_inside = [
        is_inside
        for (table, column), is_inside in uses.items()
        if column == _bare(source[1]) and _is_same(table, _name(source[0]))
    ]
    return all(are_inside) if are_inside else None


@lru_cache(maxsize=64)
def _read(text: str) -> _Copied:
    statement = parse_one(text, dialect=Snowflake)
    query = statement.args.get("expression")
    scope = build_scope(query) if isinstance(query, exp.Query) else None
    if not isinstance(statement, exp.Insert | exp.Create) or scope is None or statement.args.get("with_"):
        raise _UnknownError
    into = statement.this
    table = into.this if isinstance(into, exp.Schema) else into
    if isinstance(into, exp.Schema):
        columns = [_bare(column.name) for column in into.expressions]
    elif isinstance(statement, exp.Create):
        columns = _columns(scope)
    else:
        raise _UnknownError  # the order of the table's columns decides, which the text does not have
    if not isinstance(table, exp.Table) or len(columns) != len(_columns(scope)):
        raise _UnknownError
    return _Copied(_table(table), columns, scope, {})


def _columns(scope: Scope) -> list[str]:
    """The names of what a query selects; empty where an expression has none."""
    if scope.outer_columns:
        return [_bare(name) for name in scope.outer_columns]
    return [_bare(selected.alias_or_name) for selected in _selects(scope)]


def _selects(scope: Scope) -> list[exp.Expr]:
    """The expressions that a query selects, of a set operation those of its first part. None of them is ``*``."""
    query = scope.expression
    selects = query.selects if isinstance(query, exp.Select | exp.SetOperation) else []
    if not selects or any(selected.is_star for selected in selects):
        raise _UnknownError
    return list(selects)


def _uses(scope: Scope, number: int, results: dict[tuple[int, int], _Uses | None]) -> _Uses:
    """What the expression with this number takes from tables. ``results``: by scope and number of the expressions that
    were looked at; None while one is being looked at.
    """
    expression_key = id(scope), number
    if expression_key not in results:
        results[expression_key] = None
        if scope.expression.args.get("by_name"):  # other places in each part
            raise _UnknownError
        if isinstance(scope.expression, exp.SetOperation):
            found_uses: _Uses = {}
            for part in scope.set_operation_scopes:
                _add(found_uses, _uses(part, number, results), is_inside=False)
        else:
            found_uses = _of_select(scope, number, results)
        results[expression_key] = found_uses
    uses = results[expression_key]
    if uses is None:  # a query that reads itself
        raise _UnknownError
    return uses


def _of_select(scope: Scope, number: int, results: dict[tuple[int, int], _Uses | None]) -> _Uses:
    selects = _selects(scope)
    expression = selects[number]
    sources = {_bare(name): source for name, (_, source) in scope.selected_sources.items()}
    if scope.pivots or len(sources) != len(scope.selected_sources):
        raise _UnknownError
    uses: _Uses = {}
    for part in expression.walk():
        is_star_of_count = isinstance(part, exp.Star) and isinstance(part.parent, exp.Count)
        if not isinstance(part, _PARTS) and not is_star_of_count:
            raise _UnknownError
        if isinstance(part, exp.Column):
            source = _source(part, sources, selects)
            is_inside = _is_inside(part)
            if isinstance(source, exp.Table):
                _add(uses, {(_table(source), _bare(part.name)): False}, is_inside=is_inside)
            else:
                names = _columns(source)
                if names.count(_bare(part.name)) != 1:
                    raise _UnknownError
                _add(uses, _uses(source, names.index(_bare(part.name)), results), is_inside=is_inside)
    return uses


def _source(
    column: exp.Column, sources: dict[str, exp.Table | Scope], selects: Sequence[exp.Expr]
) -> exp.Table | Scope:
    """What a column is of. Without the name of a table it is of the only one, if it is not the name of an expression
    beside it.
    """
    is_bare = not column.table
    if column.args.get("db") or (is_bare and (len(sources) != 1 or _is_alias(column, selects))):
        raise _UnknownError
    if is_bare and _bare(column.name) in sources:  # the rows of a table as values
        raise _UnknownError
    source = sources.get(_bare(column.table)) if column.table else next(iter(sources.values()))
    if not isinstance(source, exp.Table | Scope):
        raise _UnknownError
    return source


def _is_alias(column: exp.Column, selects: Sequence[exp.Expr]) -> bool:
    named = [alias for alias in selects if isinstance(alias, exp.Alias) and _bare(alias.alias) == _bare(column.name)]
    return any(not isinstance(alias.this, exp.Column) or _bare(alias.this.name) != _bare(column.name) for alias in named
               if column.find_ancestor(exp.Alias) is not alias)  # fmt: skip


def _is_inside(column: exp.Column) -> bool:
    """Whether a column is inside an aggregate that is not a window function."""
    above = column.find_ancestor(*_AGGREGATES, exp.Query)
    window = column.find_ancestor(exp.Window, exp.Query)
    return isinstance(above, _AGGREGATES) and not isinstance(window, exp.Window)


def _add(uses: _Uses, more: _Uses, *, is_inside: bool) -> None:
    for place, is_aggregated_below in more.items():
        uses[place] = uses.get(place, True) and (is_inside or is_aggregated_below)


def _table(table: exp.Table) -> _Name:
    return tuple(_bare(part.name) for part in table.parts)


def _name(text: str) -> _Name:
    return tuple(map(_bare, parts_of(text)))


def _is_same(written: _Name, name: _Name) -> bool:
    """Whether a name in a text, of which parts may be left out, can be that of an object."""
    return bool(written) and written == name[-len(written) :]


def _bare(name: str) -> str:
    """A name to compare, without quotes and in one letter case: rows often give a name without its quotes."""
    return name.strip('"').upper()
