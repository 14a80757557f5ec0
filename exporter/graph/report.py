"""The validation report, in SHACL's own vocabulary (SHACL, section 3.6), without blank nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.writers.literals import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.shapes.results import Result

_REPORT: Final = "https://w3id.org/access-history/report"
_NO_PROPERTY: Final = ("(", "^", "<")
"""First characters of a path that is not simply the IRI of a property."""
_HEADER: Final = "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"


def shacl_report(results: Iterable[Result], *, conforms: bool) -> str:
    """The results as Turtle. ``conforms``: True where none of them has the severity of a violation."""
    every = [(f"{_REPORT}/result/{number}", result) for number, result in enumerate(results, start=1)]
    listed = "".join(f" ;\n    sh:result <{iri}>" for iri, _ in every)
    report = f"<{_REPORT}> a sh:ValidationReport ;\n    sh:conforms {str(conforms).lower()}{listed} .\n"
    return "\n".join([_HEADER, report, *(_described(iri, result) for iri, result in every)])


def _described(iri: str, result: Result) -> str:
    """One result. A path of several steps, or a shape without a name, would need a blank node: the message names it."""
    is_property = result.path is not None and not result.path.startswith(_NO_PROPERTY)
    message = result.message if is_property or result.path is None else f"{result.message} (path {result.path})"
    severity = f"sh:{result.severity}" if result.severity.isalpha() else f"<{result.severity}>"
    lines = [
        f"<{iri}> a sh:ValidationResult",
        f"sh:focusNode <{result.focus}>",
        *([] if result.shape.startswith("_:") else [f"sh:sourceShape <{result.shape}>"]),
        f"sh:resultSeverity {severity}",
        f'sh:resultMessage "{escaped(message)}"',
        *([f"sh:resultPath <{result.path}>"] if is_property else []),
        *([f'sh:value "{escaped(str(result.value))}"'] if result.value else []),
    ]
    return " ;\n    ".join(lines) + " .\n"
