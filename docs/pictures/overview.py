"""The picture of the README: ``python docs/pictures/overview.py`` writes ``overview.svg`` beside this file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("overview.svg")
_WIDTH, _HEIGHT = 988, 400
_LINE: Final = 19
_STYLE: Final = """
text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2933 }
.title { font-weight: 600; font-size: 15px }
.code { white-space: pre; font: 11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #3e4c59 }
.box { fill: #ffffff; stroke: #9aa5b1; stroke-width: 1.2 }
.core { fill: #e6f0fa; stroke: #2f6fab; stroke-width: 1.6 }
.aside { fill: #fdf3e1; stroke: #b7791f; stroke-width: 1.2 }
.arrow { stroke: #52606d; stroke-width: 1.6; fill: none; marker-end: url(#head) }
""".strip()


class Box(NamedTuple):
    """A box with a title and lines; lines that begin with a backquote are shown as code. Units are pixels."""

    x: int
    y: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...]
    kind: str = "box"

    def svg(self) -> str:
        """The box as SVG."""
        texts = [f'<text class="title" x="{self.x + 14}" y="{self.y + 25}">{escape(self.title)}</text>']
        for number, line in enumerate(self.lines):
            kind = ' class="code"' if line.startswith("`") else ""
            at = self.y + 48 + number * _LINE
            texts.append(f'<text{kind} x="{self.x + 14}" y="{at}">{escape(line.removeprefix("`"))}</text>')
        box = (
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="8"/>'
        )
        return "\n".join((box, *texts))


BOXES: Final = (
    Box(16, 60, 292, 190, "Rows of ACCESS_HISTORY", (
        "one row for each SQL statement",
        "`user_name                MARIA_ANALYST",
        "`direct_objects_accessed  CUSTOMERS",
        "`objects_modified         AUDIENCE.EMAIL",
        "`                       < CUSTOMERS.EMAIL",
        "`policies_referenced      EMAIL_MASK",
        "and, optionally, of QUERY_HISTORY",
    )),
    Box(362, 60, 250, 190, "access-history-exporter", (
        "reads rows, with Spark or without",
        "follows each object through time",
        "makes nodes and events",
        "validates every node with SHACL",
        "publishes all of it, or nothing",
        "adds each day to what is there",
    ), "core"),
    Box(672, 16, 300, 118, "OpenLineage events", (
        "a run for each query, a job for each flow",
        "column lineage, schemas, lifecycle",
        "to Marquez, DataHub, OpenMetadata, …",
    )),
    Box(672, 158, 300, 138, "Knowledge graph (RDF, PROV)", (
        "queries, users, objects, columns, policies",
        "a version of a table for each write",
        "SPARQL, shipped questions, web pages",
        "DCAT and SKOS for catalogs",
    )),
    Box(362, 304, 610, 80, "quarantine/", (
        "what cannot be read or is refused, each row with its place and its reason;",
        "rows in = exported + duplicates + quarantined, always",
    ), "aside"),
)  # fmt: skip
ARROWS: Final = (
    "M308 155 H356",
    "M612 125 C642 125 636 75 666 75",
    "M612 185 C642 185 636 226 666 226",
    "M487 250 V298",
)
_TITLE: Final = "Rows of ACCESS_HISTORY become OpenLineage events and a knowledge graph; what is refused is kept aside."
_HEAD: Final = """<defs>
<marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L10 5 L0 10 z" fill="#52606d"/>
</marker>
</defs>"""


def picture() -> str:
    """The picture as SVG."""
    arrows = "\n".join(f'<path class="arrow" d="{path}"/>' for path in ARROWS)
    boxes = "\n".join(box.svg() for box in BOXES)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">
<title id="title">{_TITLE}</title>
<style>{_STYLE}</style>
{_HEAD}
<rect width="{_WIDTH}" height="{_HEIGHT}" rx="12" fill="#f5f7fa"/>
{boxes}
{arrows}
</svg>
"""


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
