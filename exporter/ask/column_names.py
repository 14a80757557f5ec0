"""The other names of a column: those that it had before or after a rename, and its spellings in other letter cases.

What rows say of a column counts under the name that they give. So answers name the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import Literal, NamedNode, QuerySolutions

from exporter.ask.parameters import values_of
from exporter.graph.terms import full
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyoxigraph import Store

    from exporter.ask.parameters import ParameterValues

_COLUMN_OF: Final = NamedNode(full("ah:columnOf"))
_COLUMN_NAME: Final = NamedNode(full("ah:columnName"))
_RENAMED_FROM: Final = NamedNode(full("ah:renamedFrom"))
_BY_COLUMN: Final = {
    "column-copies": "copies count",
    "column-readers": "reads count",
    "end-up": "copies and reads count",
    "root-cause": "writes count",
    "tag-history": "tags count",
    "unmasked-reads": "reads and masks count",
}
"""Question about a column that is asked for by its name -> what counts under the name that the column had then."""


def former_columns(store: Store, question: str, params: ParameterValues, things: Collection[str]) -> Iterator[str]:
    """A note on each renamed column: what was done to it counts under the name that it had then, so its other names
    have to be asked for, too. It may have been renamed several times.
    """
    counted = _BY_COLUMN.get(question)
    asked_names = {match_name(value) for value in values_of(params, "column_name")}
    for thing in sorted(things) if counted and asked_names else ():
        renames = list(_renames(store, thing))
        names = set(asked_names)
        while linked := {name for pair in renames for name in pair if names & set(map(match_name, pair))}:
            if {match_name(name) for name in linked} <= names:
                break
            names |= {match_name(name) for name in linked}
        for former, new in renames:
            others = [f"column_name={column}" for column in (new, former) if match_name(column) not in asked_names]
            if others and {match_name(former), match_name(new)} <= names:
                yield (
                    f"The column {former} was renamed to {new}, and {counted} under the name of their time. "
                    f"Ask for {' and '.join(others)}, too."
                )


_CASES: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?object ?label ?spelled ?other WHERE {
  { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:TagSetting } }
  UNION { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:PolicySetting } }
  ?column ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?spelled .
  ?same ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?other .
  FILTER(?same != ?column)
  OPTIONAL { ?object rdfs:label ?label }
}
"""
"""Columns with tags or policies that rows also give in another letter case."""
_BY_SETTING: Final = frozenset(
    (
        "agent-reads",
        "policy-coverage",
        "tag-history",
        "tag-reach",
        "unmasked-copies",
        "unmasked-reads",
    )
)
_SHOWN_CASES: Final = 5


def letter_cases(store: Store, question: str, things: Collection[str]) -> Iterator[str]:
    """Tags and policies count for the spelling of a column with which rows set them."""
    if question not in _BY_SETTING:
        return
    solutions = store.query(_CASES)
    name_of: dict[tuple[str, str, str], str] = {}
    for row in solutions if isinstance(solutions, QuerySolutions) else ():
        thing, name = row["object"].value, (row["label"] or row["object"]).value
        if not things or thing in things:
            one, other = sorted((row["spelled"].value, row["other"].value))
            name_of[thing, one, other] = min(name, name_of.get((thing, one, other), name))
    texts = [f"{one} and {other} of {name}" for (_, one, other), name in sorted(name_of.items())[:_SHOWN_CASES]]
    if texts:
        more = f" and {len(name_of) - _SHOWN_CASES} more" if len(name_of) > _SHOWN_CASES else ""
        yield (
            f"Rows give columns in several letter cases: {', '.join(texts)}{more}. A tag or policy counts for the "
            "spelling with which it was set or unset, and not for the other, though it may be the same column: the "
            "answer may lack rows, and have some that do not hold."
        )


def _renames(store: Store, thing: str) -> Iterator[tuple[str, str]]:
    """The former and the new name of the renamed columns of an object, sorted."""
    pairs = set[tuple[str, str]]()
    for quad in store.quads_for_pattern(None, _COLUMN_OF, NamedNode(thing)):
        for renamed in store.quads_for_pattern(quad.subject, _RENAMED_FROM, None):
            new, former = _column_name(store, renamed.subject), _column_name(store, renamed.object)
            if new and former:
                pairs.add((former, new))
    yield from sorted(pairs)


def _column_name(store: Store, column: Any) -> str | None:
    names = store.quads_for_pattern(column, _COLUMN_NAME, None)
    return next((quad.object.value for quad in names if isinstance(quad.object, Literal)), None)
