"""A statement's content, grouped by dataset: its inputs, its outputs, its routines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from exporter.openlineage.objects import Written, dataset_of, is_routine, shown_accesses, shown_derivations, written
from exporter.openlineage.values import greatest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporter.openlineage.naming import DatasetName
    from exporter.openlineage.objects import Datasets
    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Access, Content, Derivation, Thing
    from exporter.things.answers import Dataset

Source = tuple[str, str, str, str, bool]
"""A written column; the dataset (namespace, name) and column that it comes from; whether it is a base source."""


class Output(Struct, frozen=True, gc=False):
    """A dataset that is written or changed: the accesses to it, and the objects that it stands for (``keys``, sorted).
    ``state``: its change, as ``lifecycleStateChange`` names it, or None; ``is_written``: whether data was written to
    it.
    """

    name: DatasetName
    dataset: Dataset
    ways: Sequence[Written]
    keys: Sequence[str]
    state: str | None
    is_written: bool


class Gathered(Struct, frozen=True, gc=False):
    """A statement by its datasets.

    ``inputs``: datasets that the view lists as read, with their accesses; ``unlisted``: datasets that it only names as
    the source of a column, with these columns; ``outputs``: in the order of names; ``sources``: key of the written
    object
    -> the sources of its columns, sorted; ``made_by``: the same key -> the columns that a routine made; ``routines``:
    label -> calls.
    """

    content: Content
    inputs: Mapping[DatasetName, Sequence[Access]]
    unlisted: Mapping[DatasetName, set[str]]
    outputs: Sequence[Output]
    sources: Mapping[str, list[Source]]
    made_by: Mapping[str, list[Derivation]]
    routines: Mapping[str, Sequence[Access]]

    def input_names(self) -> list[DatasetName]:
        """All datasets that are inputs, sorted."""
        return sorted([*self.inputs, *self.unlisted])


def gathered(content: Content, datasets: Datasets, settings: OpenLineageSettings) -> Gathered:
    """The content, grouped by dataset; ``datasets``: of all things that it names."""
    inputs, routines = _read(content, datasets, settings)
    sources, made_by = _derived(content, datasets, settings)
    return Gathered(
        content, inputs, _unlisted(sources, inputs), _outputs(content, datasets), sources, made_by, routines
    )


# --- inputs and routines ----------------------------------------------------------------------------------------------


def _read(
    content: Content, datasets: Datasets, settings: OpenLineageSettings
) -> tuple[dict[DatasetName, list[Access]], dict[str, list[Access]]]:
    inputs: dict[DatasetName, list[Access]] = {}
    routines: dict[str, list[Access]] = {}
    for access in shown_accesses(content, settings):
        dataset = dataset_of(access.thing, datasets)
        if is_routine(access.thing):
            routines.setdefault(_with_arguments(dataset, access.thing), []).append(access)
        else:
            inputs.setdefault((dataset.namespace, dataset.name), []).append(access)
    return inputs, routines


def _with_arguments(dataset: Dataset, routine: Thing) -> str:
    """The name of a routine with its arguments, which distinguish overloaded routines."""
    return dataset.name + (routine.signature or "")


# --- sources ----------------------------------------------------------------------------------------------------------


def _derived(
    content: Content, datasets: Datasets, settings: OpenLineageSettings
) -> tuple[dict[str, list[Source]], dict[str, list[Derivation]]]:
    sources: dict[str, list[Source]] = {}
    made_by: dict[str, list[Derivation]] = {}
    for one in shown_derivations(content, settings):
        if is_routine(one.source):
            made_by.setdefault(one.target_key, []).append(one)
        elif one.source_column is not None:
            dataset = dataset_of(one.source, datasets)
            source = (one.target_column, dataset.namespace, dataset.name, one.source_column, one.source_type == "BASE")
            sources.setdefault(one.target_key, []).append(source)
    return {key: sorted(sources[key]) for key in sorted(sources)}, made_by


def _unlisted(
    sources: Mapping[str, list[Source]], inputs: Mapping[DatasetName, Sequence[Access]]
) -> dict[DatasetName, set[str]]:
    """The sources that are no inputs, in the order of the columns that were written."""
    found: dict[DatasetName, set[str]] = {}
    for told in sources.values():
        for _, namespace, name, field, _ in told:
            if (namespace, name) not in inputs:
                found.setdefault((namespace, name), set()).add(field)
    return found


# --- outputs ----------------------------------------------------------------------------------------------------------


def _outputs(content: Content, datasets: Datasets) -> list[Output]:
    found: dict[DatasetName, list[Written]] = {}
    for one in written(content):
        dataset = dataset_of(one.thing, datasets)
        found.setdefault((dataset.namespace, dataset.name), []).append(one)
    return [_output(name, found[name], datasets) for name in sorted(found)]


def _output(name: DatasetName, ways: list[Written], datasets: Datasets) -> Output:
    dataset, keys = shown_dataset(ways, datasets), sorted({way.thing.key for way in ways})
    is_written = any(way.access == "WRITE" for way in ways)
    return Output(name, dataset, ways, keys, greatest(way.state for way in ways), is_written)


def shown_dataset(touches: Sequence[Access], datasets: Datasets) -> Dataset:
    """The dataset to describe where several objects of one query are the same dataset. One of them may be no table but
    have the same name.
    """
    first = min(touches, key=lambda touch: (touch.access, touch.thing.key)) if len(touches) > 1 else touches[0]
    return dataset_of(first.thing, datasets)
