"""Validation results, and the report of them in SHACL's vocabulary (SHACL, section 3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyoxigraph import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

ALLOWED: Final = frozenset({"Warning", "Info"})
"""Severities that are no violation."""


class Terms(NamedTuple):
    """The parts of a result as Turtle writes them, for the validation report. ``path``: None for the node as a whole; a
    path of several steps is a blank node, as SHACL requires (section 2.3.1). ``value``: None where no single value is
    at fault. ``messages``: the sh:message of the shape, each with its language; empty where it has none.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    messages: tuple[str, ...]


class Result(NamedTuple):
    """One validation result (SHACL, section 3.6.2), as texts: IRIs are whole, a blank node is ``_:name``.

    ``focus``: the node; ``shape``: the shape that it does not conform to; ``path``: the IRI of the property, or a path
    as SPARQL writes it (None: the node as a whole); ``value``: the value at fault (None: a value is missing, or their
    number is at fault); ``severity``: ``Violation``, ``Warning``, ``Info``, or another IRI; ``component``: the IRI of
    the constraint component; ``terms``: the same parts as RDF terms.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    severity: str
    message: str
    component: str
    terms: Terms


def in_order(results: Iterable[Result]) -> list[Result]:
    """The results in an order that depends on nothing but the results themselves."""
    return sorted(results, key=lambda result: [(part is not None, part) for part in result[:-1]])


def violations(results: Iterable[Result]) -> int:
    """How many results are violations: all but warnings and information. A graph with results of these two alone may
    be published, though in the words of SHACL (section 3.4) it conforms only where there are no results at all.
    """
    return sum(result.severity not in ALLOWED for result in results)


_REPORT: Final = "https://w3id.org/access-history/report"
_HEADER: Final = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"


def shacl_report(results: Iterable[Result], *, is_cut: bool = False) -> str:
    """The results as Turtle. As in SHACL, ``sh:conforms`` is true only where there are none, not even warnings.
    ``is_cut``: whether there are more, which the report then says.

    Only a path of several steps and a shape without a name are blank nodes, as SHACL has them (section 2.3.1).
    """
    every = [(f"{_REPORT}/result/{number}", result) for number, result in enumerate(results, start=1)]
    listed = "".join(f" ;\n    sh:result <{iri}>" for iri, _ in every)
    report = f"<{_REPORT}> a sh:ValidationReport ;\n    sh:conforms {str(not every).lower()}{listed} .\n"
    cut = (
        f"# Only the first {len(every)} results are here; report.json counts all of them by shape.\n" if is_cut else ""
    )
    return "\n".join([cut + _HEADER, report, *(_described(iri, result) for iri, result in every)])


def _described(iri: str, result: Result) -> str:
    terms = result.terms
    severity = f"sh:{result.severity}" if result.severity.isalpha() else f"<{result.severity}>"
    lines = [
        f"<{iri}> a sh:ValidationResult",
        f"sh:focusNode {terms.focus}",
        f"sh:sourceShape {terms.shape}",
        f"sh:sourceConstraintComponent <{result.component}>",
        f"sh:resultSeverity {severity}",
        *(f"sh:resultMessage {message}" for message in terms.messages or (str(Literal(result.message)),)),
        *([] if terms.path is None else [f"sh:resultPath {terms.path}"]),
        *([] if terms.value is None else [f"sh:value {terms.value}"]),
    ]
    return " ;\n    ".join(lines) + " .\n"
