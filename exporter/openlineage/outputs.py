"""The outputs of a statement, as JSON texts for its event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from orjson import Fragment

from exporter.openlineage import facets
from exporter.openlineage.changes import tags
from exporter.openlineage.lineage import by_column, routines_by_column, sources_of
from exporter.openlineage.objects import accessed
from exporter.openlineage.values import together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.openlineage.gathered import Gathered, Output, Source
    from exporter.openlineage.naming import DatasetName
    from exporter.openlineage.settings import OpenLineageSettings


def output_text(output: Output, told: Gathered, settings: OpenLineageSettings) -> bytes:
    """An output as JSON; ``outputFacets`` is its last member."""
    producer, sources = settings.producer, sources_of(output.keys, told.sources)
    if output.name in told.moved:
        sources = sorted({*sources, *told.moved[output.name]})
    columns = by_column(sources)
    own = {
        **facets.column_lineage(columns, producer),
        **(facets.lineage(_made_from(sources, told), columns, producer) if output.is_written else {}),
        **facets.column_routines(routines_by_column(output.keys, told.made_by), producer),
        **facets.lifecycle(output.state, _previous(output, told), producer),
        **facets.tags(tags(told.content, output.keys), producer),
    }
    return orjson.dumps(
        {
            "namespace": output.dataset.namespace,
            "name": output.dataset.name,
            "facets": Fragment(together(output.dataset.facets, orjson.dumps(own))),
            "outputFacets": facets.write(accessed(output.ways), producer),
        }
    )


def _made_from(sources: Sequence[Source], told: Gathered) -> Sequence[DatasetName]:
    """The datasets that an output was made from. Where the query writes several outputs, these are the sources of its
    own columns, so that the branches of an INSERT ALL stay apart; else they are all inputs.
    """
    if len(told.outputs) == 1 or not sources:
        return told.input_names()
    return sorted({(namespace, name) for _, namespace, name, _, _ in sources})


def _previous(output: Output, told: Gathered) -> DatasetName | None:
    """The dataset that was renamed to this output; None where it was not a rename."""
    if output.state != "RENAME":
        return None
    former = (one.name for one in told.outputs if one.state == "DROP" and not set(one.keys).isdisjoint(output.keys))
    return next(former, None)


def with_version(output: bytes, query_id: str, producer: str) -> bytes:
    """The text of an output with the state that this run wrote: one more facet at the end of its ``facets``."""
    # In JSON, a quote within a text is escaped: this is the key itself, and the last one of the output.
    end = output.rindex(b'},"outputFacets":')
    comma = b"" if output.endswith(b"{", 0, end) else b","
    return output[:end] + comma + orjson.dumps(facets.version(query_id, producer))[1:-1] + output[end:]


def with_rows(output: bytes, rows: int, producer: str) -> bytes:
    """The text of an output with the number of rows written, which QUERY_HISTORY gives for each run: one more facet at
    the end of its ``outputFacets``.
    """
    more = orjson.dumps(facets.output_statistics(rows, producer))
    return output[: -len(b"}}")] + b"," + more[1:] + b"}"
