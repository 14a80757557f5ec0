"""The lineage that OpenLineage events declare: of dbt, Airflow, Spark or any other producer.

The events of a run belong together: one may name the inputs and another the outputs. A run that ended in FAIL or ABORT
declares nothing. Events that this program made from rows are left out: they would confirm themselves.

Column lineage is that of the facet ``columnLineage``. What it calls INDIRECT, and its list ``dataset``, are columns
that only filter, join or sort: they are reads. An input that no column comes from is compared table by table.

The facet ``lineage`` is not read; a note says so where a dataset has it and no ``columnLineage``.

Source: OpenLineage's specification (OpenLineage.json 2-0-2; ColumnLineageDatasetFacet 1-2-0; SymlinksDatasetFacet).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from exporter.ask.answers import first_of
from exporter.errors import UsageError
from exporter.input.times import parse_time
from exporter.openlineage.settings import PRODUCER
from exporter.reconcile.declared import (
    SNOWFLAKE,
    Declaration,
    DeclaredDataset,
    DeclaredEdge,
    FilledDataset,
    Item,
    dataset,
)
from exporter.system.terminal import counted

FORM: Final = "OpenLineage events"
MOST_PAIRS: Final = 1_000_000
"""The most pairs of input and output, and of columns, that one run may have."""
_OURS: Final = PRODUCER.rpartition("/")[0]
_INDIRECT: Final = "INDIRECT"
_FAILED: Final = frozenset(("FAIL", "ABORT"))
_COMPLETE: Final = "COMPLETE"
_NAMED: Final = 3
"""The most names in a note."""


class _Transformation(Struct):
    type: str | None = None


class _Name(Struct):
    """The name of a dataset or job."""

    namespace: str
    name: str


class _Field(_Name):
    field: str
    transformations: list[_Transformation] | None = None

    @property
    def only_filters(self) -> bool:
        kinds = {transformation.type for transformation in self.transformations or ()}
        return kinds == {_INDIRECT}


class _Column(Struct, rename="camel"):
    input_fields: list[_Field] | None = None


class _ColumnLineage(Struct):
    fields: dict[str, _Column] | None = None
    dataset: list[_Field] | None = None


class _Symlinks(Struct):
    identifiers: list[_Name] | None = None


class _Facets(Struct, rename="camel"):
    column_lineage: _ColumnLineage | None = None
    lineage: msgspec.Raw = msgspec.Raw()
    symlinks: _Symlinks | None = None


class _Dataset(_Name):
    facets: _Facets | None = None


class _Run(Struct, rename="camel"):
    run_id: str


class LineageEvent(Struct, rename="camel"):
    """The parts of an event that say lineage: of a run, a job or a dataset."""

    event_time: str
    event_type: str | None = None
    producer: str | None = None
    run: _Run | None = None
    job: _Name | None = None
    inputs: list[_Dataset] | None = None
    outputs: list[_Dataset] | None = None
    dataset: _Dataset | None = None


class _RunState(Struct, rename="camel"):
    event_type: str | None = None
    run: _Run | None = None


_event: Final = msgspec.json.Decoder(LineageEvent).decode
_state: Final = msgspec.json.Decoder(_RunState).decode


def event(text: bytes | msgspec.Raw, place: str) -> LineageEvent:
    """An event; raises UsageError, which names ``place`` and the field, for what is none."""
    try:
        return _event(text)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = "is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{place}: is no OpenLineage event: {reason}") from None


def failed_run(text: bytes | msgspec.Raw) -> str | None:
    """The id of the run that an event ends with FAIL or ABORT; None for another event, and for what is none."""
    try:
        state = _state(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return state.run.run_id if state.run and (state.event_type or "").upper() in _FAILED else None


@dataclass
class _RunLineage:
    """The lineage in the events of a run so far. ``columns``: the edges of its column lineage, without times."""

    job: str | None
    time: int
    inputs: dict[DeclaredDataset, None] = field(default_factory=dict)
    outputs: dict[DeclaredDataset, None] = field(default_factory=dict)
    columns: dict[DeclaredEdge, None] = field(default_factory=dict)


@dataclass
class SplitRuns:
    """What the files of one comparison say of the same runs. ``failed``: the ids of those that are known to have ended
    in FAIL or ABORT; ``one_sided``: those with inputs alone or outputs alone so far, whose other events may be in
    another file, or stand after their end.
    """

    failed: set[str] = field(default_factory=set)
    one_sided: dict[str, _RunLineage] = field(default_factory=dict)

    def ended(self, ident: str, run: _RunLineage) -> Iterator[Item]:
        """The edges of a run, with what was said of it before."""
        other = self.one_sided.pop(ident, None)
        if other is not None:
            run = _RunLineage(
                run.job or other.job,
                max(run.time, other.time),
                other.inputs | run.inputs,
                other.outputs | run.outputs,
                other.columns | run.columns,
            )
        if bool(run.inputs) != bool(run.outputs):
            self.one_sided[ident] = run
        return _edges(run)


def items(
    events: Iterable[tuple[str, LineageEvent]], declaration: Declaration, runs: SplitRuns | None = None
) -> Iterator[Item]:
    """What the events declare; each comes with its place. ``declaration.left_out`` gets what is no declaration.
    ``runs``: shared by all files of a comparison.
    """
    runs = runs or SplitRuns()
    running, failed, own_events, not_read = dict[str, _RunLineage](), set[str](), 0, set[str]()
    for place, event in events:
        if (event.producer or "").startswith(_OURS):
            own_events += 1
            continue
        not_read |= set(_with_lineage_alone(event))
        if event.run is None:
            yield from _edges(_add(event, None, place))
            continue
        ident = event.run.run_id
        kind = (event.event_type or "").upper()
        if kind in _FAILED or ident in runs.failed:
            failed.add(ident)
            runs.failed.add(ident)
            running.pop(ident, None)
            continue
        running[ident] = _add(event, running.get(ident), place)
        if kind == _COMPLETE:
            yield from runs.ended(ident, running.pop(ident))
    for ident, run in running.items():
        yield from runs.ended(ident, run)
    if failed:
        declaration.left_out.append(f"{counted(len(failed), 'run')} that ended in FAIL or ABORT")
    if own_events:
        declaration.left_out.append(f"{counted(own_events, 'event')} that exporter made from rows itself")
    if not_read:
        names = first_of(sorted(not_read), _NAMED)
        declaration.left_out.append(f"the facet lineage of {names}, which is not read (columnLineage is)")


def _with_lineage_alone(event: LineageEvent) -> Iterator[str]:
    """The names of the datasets with the facet ``lineage`` and no column lineage in another."""
    for output in [*(event.outputs or ()), *([event.dataset] if event.dataset else ())]:
        if output.facets and bytes(output.facets.lineage) and output.facets.column_lineage is None:
            yield output.name


def _add(event: LineageEvent, run_so_far: _RunLineage | None, place: str) -> _RunLineage:
    time = parse_time(event.event_time)
    if time is None:
        raise UsageError(f"{place}: eventTime {event.event_time[:60]!r} is not a time such as 2026-09-30T08:00:00Z")
    job = f"{event.job.namespace.rstrip('/')}/{event.job.name}" if event.job else None
    run = run_so_far or _RunLineage(job, time)
    run.job, run.time = run.job or job, max(run.time, time)
    run.inputs.update(dict.fromkeys(_snowflake_dataset(input_dataset, place) for input_dataset in event.inputs or ()))
    for output in [*(event.outputs or ()), *([event.dataset] if event.dataset else ())]:
        target = _snowflake_dataset(output, place)
        if output is not event.dataset:
            run.outputs[target] = None
        if output.facets and output.facets.column_lineage:
            run.columns.update(dict.fromkeys(_columns(target, output.facets.column_lineage, place)))
    if len(run.inputs) * len(run.outputs) + len(run.columns) > MOST_PAIRS:
        raise UsageError(
            f"{place}: the run has more than {MOST_PAIRS:,} pairs of inputs and outputs. No statement has; leave it out"
        )
    return run


def _snowflake_dataset(given: _Dataset, place: str) -> DeclaredDataset:
    """The dataset; if it is a path whose table has a name in Snowflake (symlinks), that."""
    links = (given.facets and given.facets.symlinks and given.facets.symlinks.identifiers) or ()
    names: list[_Name] = [given, *links]
    name = next((identifier for identifier in names if identifier.namespace.lower().startswith(SNOWFLAKE)), given)
    return dataset(name.namespace, name.name, place)


def _columns(target: DeclaredDataset, lineage: _ColumnLineage, place: str) -> Iterator[DeclaredEdge]:
    sources = [
        (source, None if source.only_filters else name)
        for name, column in (lineage.fields or {}).items()
        for source in column.input_fields or ()
    ]
    for source, column_name in (*sources, *((source, None) for source in lineage.dataset or ())):
        yield DeclaredEdge(dataset(source.namespace, source.name, place), target, source.field, column_name)


def _edges(run: _RunLineage) -> Iterator[Item]:
    """The edges of a run: its column lineage, and the pairs of input and output that have none."""
    for output in run.outputs:
        yield FilledDataset(output, run.time)
    by_column = {(edge.source, edge.target) for edge in run.columns}
    pairs = ((source, target) for target in run.outputs for source in run.inputs)
    whole = (DeclaredEdge(source, target) for source, target in pairs if (source, target) not in by_column)
    for edge in (*run.columns, *whole):
        yield edge._replace(time=run.time, name_time=run.time, job=run.job)
