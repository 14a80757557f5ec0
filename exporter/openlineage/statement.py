"""The parts of an event that follow from its statement: the same for each run of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct
from orjson import Fragment

from exporter.openlineage import facets
from exporter.openlineage.changes import changes_told
from exporter.openlineage.gathered import gathered, shown_dataset
from exporter.openlineage.jobs import of_statement
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
    from exporter.things.answers import Bridge


class Statement(Struct, frozen=True, gc=False):
    """The parts of an event that follow from the content and its datasets alone, as JSON.

    ``job``: without the columns of QUERY_HISTORY that its name may have; ``facets``: an object, the run facets;
    ``inputs``: an array; ``outputs``: one object each; ``written``: the positions of the outputs that are written, and
    not only changed; ``fills_helper``: whether it writes a helper that is no output.
    """

    job: Job
    facets: bytes
    inputs: bytes
    outputs: tuple[bytes, ...]
    written: tuple[int, ...]
    fills_helper: bool = False


def statement(
    content: Content, datasets: Datasets, settings: OpenLineageSettings, bridge: Bridge | None = None
) -> Statement:
    """The parts for one statement; ``datasets``: of all things that it names; ``bridge``: what it says in place of
    helpers, which differs from run to run.
    """
    told = gathered(content, datasets, settings, bridge)
    return Statement(
        of_statement(told, datasets),
        orjson.dumps(_run_facets(told, datasets, settings.producer)),
        orjson.dumps(_inputs(told, datasets, settings)),
        tuple([output_text(output, told, settings) for output in told.outputs]),
        tuple([number for number, output in enumerate(told.outputs) if output.is_written]),
        any("WRITE" in uses for uses in told.helpers.values()),
    )


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs(told: Gathered, datasets: Datasets, settings: OpenLineageSettings) -> list[Json]:
    """The inputs: first those that the view lists as read, then those that it only names as the source of a column. A
    backend drops a column's edge if its source is no input.
    """
    return [
        *[_listed(name, told.inputs[name], datasets, settings) for name in sorted(told.inputs)],
        *[_unlisted(name, sorted(columns), settings) for name, columns in told.unlisted.items()],
        *[_behind(name, text, sorted(columns), settings) for name, (text, columns) in told.behind.items()],
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


def _behind(name: DatasetName, text: bytes, columns: list[str], settings: OpenLineageSettings) -> Json:
    """A dataset from which a helper was filled."""
    return {
        "namespace": name[0],
        "name": name[1],
        "facets": Fragment(text),
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
        **facets.helpers([_helper(name, told.helpers[name]) for name in sorted(told.helpers)], producer),
        **facets.routines([_called(told.routines[label]) for label in sorted(told.routines)], producer),
    }


def _helper(name: DatasetName, uses: set[str]) -> Json:
    return {"namespace": name[0], "name": name[1], "accesses": sorted(uses)}


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
    told = (join.left.key, join.left.name, join.join_type, join.right.key, join.right.name)
    return "\n".join(one for one in told if one is not None)


def _join(join: Join, datasets: Datasets) -> Json:
    left, right = _identity(join.left, datasets), _identity(join.right, datasets)
    return said({"left": left, "joinType": join.join_type, "right": right})


def _called(accesses: Sequence[Access]) -> Json:
    """A routine, once, with all accesses to it; of several objects the first in order is described."""
    thing = min((access.thing for access in accesses), key=_order_of_routine)
    return {**routine(thing), "accesses": sorted({access.access for access in accesses})}


def _order_of_routine(thing: Thing) -> Any:
    return nothing_first((thing.name, thing.signature, thing.kind, thing.object_id, thing.data_type))
