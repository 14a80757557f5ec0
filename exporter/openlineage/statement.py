"""The parts of an event that follow from its statement: the same for each run of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct
from orjson import Fragment

from exporter.openlineage import facets
from exporter.openlineage.changes import changes_told
from exporter.openlineage.gathered import gathered, shown_dataset
from exporter.openlineage.jobs import unprefixed
from exporter.openlineage.objects import accessed, dataset_of, routine
from exporter.openlineage.outputs import output_text
from exporter.openlineage.values import Json, nothing_first, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.openlineage.gathered import Gathered
    from exporter.openlineage.naming import DatasetName, Job
    from exporter.openlineage.objects import Datasets
    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Access, Content, Join, PolicyReference, Thing


class Statement(Struct, frozen=True, gc=False):
    """The parts of an event that follow from the content and its datasets alone, as JSON.

    ``job``: without the columns of QUERY_HISTORY before its name; ``facets``: an object, the run facets; ``inputs``: an
    array; ``outputs``: one object each; ``counted``: the position of the output that the row counts of QUERY_HISTORY
    apply to, which has to be the only one written; None otherwise.
    """

    job: Job
    facets: bytes
    inputs: bytes
    outputs: tuple[bytes, ...]
    counted: int | None


def statement(content: Content, datasets: Datasets, settings: OpenLineageSettings) -> Statement:
    """The parts for one statement; ``datasets``: of all things that it names."""
    told = gathered(content, datasets, settings)
    is_written = [number for number, output in enumerate(told.outputs) if output.is_written]
    return Statement(
        unprefixed(told, datasets),
        orjson.dumps(_run_facets(told, datasets, settings.producer)),
        orjson.dumps(_inputs(told, datasets, settings)),
        tuple([output_text(output, told, settings) for output in told.outputs]),
        is_written[0] if len(is_written) == 1 else None,
    )


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs(told: Gathered, datasets: Datasets, settings: OpenLineageSettings) -> list[Json]:
    """The inputs: first those that the view lists as read, then those that it only names as the source of a column. A
    backend drops a column's edge if its source is no input.
    """
    return [
        *[_listed(name, told.inputs[name], datasets, settings) for name in sorted(told.inputs)],
        *[_unlisted(name, sorted(columns), settings) for name, columns in told.unlisted.items()],
    ]


def _listed(name: DatasetName, reads: Sequence[Access], datasets: Datasets, settings: OpenLineageSettings) -> Json:
    return {
        "namespace": name[0],
        "name": name[1],
        "facets": Fragment(shown_dataset(reads, datasets).facets),
        "inputFacets": facets.access(accessed(reads), settings.producer),
    }


def _unlisted(name: DatasetName, columns: list[str], settings: OpenLineageSettings) -> Json:
    return {
        "namespace": name[0],
        "name": name[1],
        "facets": facets.schema(columns, settings.unknown_type, settings.producer),
        "inputFacets": facets.access({"accesses": ["SOURCE"], "columns": columns}, settings.producer),
    }


# --- the run ----------------------------------------------------------------------------------------------------------


def _run_facets(told: Gathered, datasets: Datasets, producer: str) -> Json:
    content = told.content
    return {
        **facets.incompleteness(content.incomplete, producer),
        **facets.policies(_policies(content, datasets), producer),
        **facets.joins(_joins(content, datasets), producer),
        **facets.ddl(changes_told(content, datasets), producer),
        **facets.routines([_called(told.routines[label]) for label in sorted(told.routines)], producer),
    }


def _identity(thing: Thing, datasets: Datasets) -> Json:
    dataset = dataset_of(thing, datasets)
    return {"namespace": dataset.namespace, "name": dataset.name}


def _policies(content: Content, datasets: Datasets) -> list[Json]:
    found = [_policy(reference, datasets) for reference in content.policies]
    if len(found) > 1:
        found.sort(key=lambda one: nothing_first(tuple(one.values())))
    return [said(one) for one in found]


def _policy(reference: PolicyReference, datasets: Datasets) -> Json:
    return {
        **_identity(reference.protected, datasets),
        "field": reference.column_name,
        "policyKind": reference.policy_kind,
        "policyId": reference.policy_id,
        "policyName": reference.policy_name,
        "provider": reference.provider,
    }


def _joins(content: Content, datasets: Datasets) -> list[Json]:
    return [_join(join, datasets) for join in sorted(content.joins, key=_order_of_join)]


def _order_of_join(join: Join) -> str:
    told = (join.left_key, join.left_name, join.join_type, join.right.key, join.right.name)
    return "\n".join(one for one in told if one is not None)


def _join(join: Join, datasets: Datasets) -> Json:
    left = datasets[join.left_key, join.left_name, None]
    return said(
        {
            "left": {"namespace": left.namespace, "name": left.name},
            "joinType": join.join_type,
            "right": _identity(join.right, datasets),
        }
    )


def _called(accesses: Sequence[Access]) -> Json:
    """A routine, once, with all accesses to it; of several objects the first in order is described."""
    thing = min((access.thing for access in accesses), key=_order_of_routine)
    return {**routine(thing), "accesses": sorted({access.access for access in accesses})}


def _order_of_routine(thing: Thing) -> Any:
    return nothing_first((thing.name, thing.signature, thing.kind, thing.object_id, thing.data_type))
