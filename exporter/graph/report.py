"""The validation report, in SHACL's own vocabulary (SHACL, section 3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.shapes.results import Result

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
