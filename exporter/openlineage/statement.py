"""The parts of an event that follow from its statement, the same for each run: facets, outputs, lineage of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import replace
from orjson import Fragment

from exporter.model.answers import Bridge
from exporter.model.facts import Access, Content, Derivation, Join, ObjectReference, PolicyReference
from exporter.model.identifiers import ROUTINE_KINDS
from exporter.openlineage import facets
from exporter.openlineage.changes import change_details, changes_tags, subject, verb
from exporter.openlineage.facets import Json, joined_json, none_first, single_field, sorted_objects, without_none
from exporter.openlineage.inputs_and_outputs import (
    ColumnEdge,
    Datasets,
    DatasetUses,
    Output,
    accessed,
    dataset_of,
    dataset_uses,
    routine,
    shown_dataset,
)
from exporter.openlineage.naming import HELPER, DatasetName, Job

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings

_TRANSFORMATIONS: Final = ({"type": "DIRECT"}, {"type": "DIRECT", "description": "base source"})


def by_column(sources: Iterable[ColumnEdge]) -> dict[str, list[Json]]:
    """Column -> its sources, none twice, each as direct, base, or both; without those that are named as a whole.
    ``sources`` have to be sorted.
    """
    by_name: dict[str, list[Json]] = {}
    for (column, *source), edges in groupby(sources, itemgetter(0, 1, 2, 3)):
        if not source[-1]:
            continue
        kinds = [_TRANSFORMATIONS[is_base] for is_base in dict.fromkeys(edge[4] for edge in edges)]
        fields = dict(zip(("namespace", "name", "field"), source, strict=True))
        by_name.setdefault(column, []).append({**fields, "transformations": kinds})
    return by_name


def routines_by_column(keys: Collection[str], made_by: Mapping[str, list[Derivation]]) -> dict[str, list[Json]]:
    """Column -> the routines that made it, for the output that stands for the objects ``keys``."""
    by_name: dict[str, list[Json]] = {}
    for key in keys:
        for derivation in sorted(made_by.get(key, ()), key=_order_of_derivation):
            called = {**routine(derivation.source), "sourceType": derivation.source_type}
            by_name.setdefault(derivation.target_column, []).append(called)
    return by_name


def output_text(output: Output, uses: DatasetUses, settings: OpenLineageSettings) -> bytes:
    """An output as JSON; ``outputFacets`` is its last member."""
    producer, sources = settings.producer, uses.sources_of(output)
    columns = by_column(sources)
    fields = {column: {"inputFields": fields} for column, fields in columns.items()}
    routines = routines_by_column(output.keys, uses.made_by)
    own = {
        **single_field("columnLineage", "fields", fields, producer),
        **(facets.lineage(uses.made_from(sources), columns, producer) if output.is_written else {}),
        **single_field("accessHistory_columnRoutines", "fields", routines, producer),
        **facets.lifecycle(output.state, _previous(output, uses), producer),
    }
    return orjson.dumps(
        {
            "namespace": output.dataset.namespace,
            "name": output.dataset.name,
            "facets": Fragment(joined_json(output.dataset.facets, orjson.dumps(own))),
            "outputFacets": facets.facet("accessHistory_write", accessed(output.writes), producer),
        }
    )


def _previous(output: Output, uses: DatasetUses) -> DatasetName | None:
    """The dataset that was renamed to this output; None where it was not a rename."""
    if output.state != "RENAME":
        return None
    same = (other for other in uses.outputs if not set(other.keys).isdisjoint(output.keys))
    return next((other.name for other in same if other.state == "DROP"), None)


def with_facets(output: bytes, more: Json) -> bytes:
    """The text of an output with more facets at the end of its ``facets``."""
    if not more:
        return output
    # In JSON, a quote within a text is escaped: this is the key itself, and the last one of the output.
    end = output.rindex(b'},"outputFacets":')
    comma = b"" if output.endswith(b"{", 0, end) else b","
    return output[:end] + comma + orjson.dumps(more)[1:-1] + output[end:]


def with_rows(output: bytes, rows: int, producer: str) -> bytes:
    """The text of an output with the number of rows written, which QUERY_HISTORY gives for each run: one more facet at
    the end of its ``outputFacets``.
    """
    more = orjson.dumps(facets.facet("outputStatistics", {"rowCount": rows}, producer))
    return output[: -len(b"}}")] + b"," + more[1:] + b"}"


class OutputParts(Struct, frozen=True, gc=False):
    """What the statement says of an output. ``text``: the output as JSON; ``is_written``: whether it is written, and
    not only changed; ``bearers``: keys of the objects that have its name after the statement; ``changes_tags``: whether
    the statement sets or unsets their tags.
    """

    text: bytes
    is_written: bool
    bearers: Sequence[str]
    changes_tags: bool


def _output_parts(output: Output, uses: DatasetUses, settings: OpenLineageSettings) -> OutputParts:
    bearers = _bearers(output, uses.content)
    return OutputParts(
        output_text(output, uses, settings), output.is_written, bearers, changes_tags(uses.content, bearers)
    )


def _bearers(output: Output, content: Content) -> Sequence[str]:
    """The objects that have the name of an output after the statement: none after a DROP or RENAME, and after a SWAP
    those that had the other name. What has no id in the row is known by its name alone, also after a SWAP.
    """
    if output.state == "DROP":
        return ()
    partners: dict[str, str] = {}
    for change in content.changes:
        if change.swap_key is not None and change.thing.object_id is not None and change.swap_id is not None:
            partners |= {change.thing.key: change.swap_key, change.swap_key: change.thing.key}
    return sorted({partners.get(key, key) for key in output.keys})


class StatementParts(Struct, frozen=True, gc=False):
    """The parts of an event that follow from the content and its datasets alone, as JSON.

    ``job``: without the columns of QUERY_HISTORY that its name may have; ``facets``: an object, the run facets;
    ``inputs``: an array; ``fills_helper``: whether it writes a helper that is no output.
    """

    job: Job
    facets: bytes
    inputs: bytes
    outputs: tuple[OutputParts, ...]
    fills_helper: bool = False


def statement(
    content: Content, datasets: Datasets, settings: OpenLineageSettings, bridge: Bridge | None = None
) -> StatementParts:
    """The parts for one statement; ``datasets``: of all things that it names; ``bridge``: what it says in place of
    helpers, which differs from run to run.
    """
    uses = dataset_uses(content, datasets, settings, bridge)
    return StatementParts(
        job_of_statement(uses, datasets),
        orjson.dumps(_run_facets(uses, datasets, settings.producer)),
        orjson.dumps(_inputs(uses, datasets, settings)),
        tuple([_output_parts(output, uses, settings) for output in uses.outputs]),
        _fills_helper(uses),
    )


# --- the job ---------------------------------------------------------------------------------------------------------


def job_of_statement(uses: DatasetUses, datasets: Datasets) -> Job:
    """The job of a statement. A run may add columns of QUERY_HISTORY to its name
    (:func:`exporter.openlineage.events.suffixed`).
    """
    changes = uses.content.changes
    is_of_helper = bool(uses.helpers) and not uses.outputs
    verbs = {"swap"} if _is_swap(uses) else {verb(change) for change in changes}
    if is_of_helper and uses.content.truncates:
        verbs.add("truncate")
    changed = [label for change in changes if (label := subject(change, datasets)) is not None]
    used = [label for label, accesses in uses.routines.items() if accesses[0].thing.kind not in ROUTINE_KINDS]
    not_called = {*used, *changed, *([HELPER] if is_of_helper else ())}
    return Job(
        verbs=tuple(sorted(verbs)),
        inputs=tuple(uses.input_names()),
        outputs=tuple([output.name for output in uses.outputs]),
        subjects=tuple(sorted({*uses.routines, *not_called})),
        renamed=_renamed(uses.outputs),
        not_called=tuple(sorted(not_called)),
        fills_helper=is_of_helper and _fills_helper(uses),
    )


def _fills_helper(uses: DatasetUses) -> bool:
    return any("WRITE" in accesses for accesses in uses.helpers.values())


def _renamed(outputs: Sequence[Output]) -> DatasetName | None:
    """The dataset whose rename is all that the statement wrote; None where there is none."""
    former = [output.name for output in outputs if output.state == "DROP"]
    is_pair = len(outputs) == 2 and {output.state for output in outputs} == {"DROP", "RENAME"}
    return former[0] if is_pair and outputs[0].keys == outputs[1].keys else None


def _is_swap(uses: DatasetUses) -> bool:
    """Whether two datasets change places, and the statement does nothing else."""
    names = {output.name for output in uses.outputs}
    is_pair = len(names) == 2 and all(output.state == "ALTER" and not output.is_written for output in uses.outputs)
    return is_pair and not uses.input_names() and all(change.swap_key is not None for change in uses.content.changes)


# --- inputs -----------------------------------------------------------------------------------------------------------


def _inputs(uses: DatasetUses, datasets: Datasets, settings: OpenLineageSettings) -> list[Json]:
    """The inputs: those that the view lists as read, those that it only names as the source of a column, and those from
    which helpers were filled. A backend drops a column's edge if its source is no input.
    """
    producer = settings.producer
    inputs = [
        _input(name, Fragment(shown_dataset(reads, datasets).facets), accessed(reads), producer)
        for name, reads in sorted(uses.inputs.items())
    ]
    for name, columns in uses.unlisted.items():
        schema = facets.schema(sorted(columns), settings.unknown_type, producer)
        shown = schema or Fragment(_named_as_whole(name, uses, datasets))
        inputs.append(_input(name, shown, _as_source(columns), producer))
    for name, (of_dataset, columns) in uses.behind.items():
        inputs.append(_input(name, Fragment(of_dataset), _as_source(columns), producer))
    return inputs


def _input(name: DatasetName, of_dataset: Json | Fragment, of_query: Json, producer: str) -> Json:
    """An input with the facets of its dataset. ``of_query``: how the query read it."""
    return {
        "namespace": name[0],
        "name": name[1],
        "facets": of_dataset,
        "inputFacets": facets.facet("accessHistory_access", of_query, producer),
    }


def _named_as_whole(name: DatasetName, uses: DatasetUses, datasets: Datasets) -> bytes:
    """The facets of a source of which the row names no column, such as a stage."""
    sources = (dataset_of(derivation.source, datasets) for derivation in uses.content.derivations)
    return next((source.facets for source in sources if (source.namespace, source.name) == name), b"{}")


def _as_source(columns: Iterable[str]) -> Json:
    return {"accesses": ["SOURCE"], "columns": sorted(columns)}


# --- the run ----------------------------------------------------------------------------------------------------------


def _run_facets(uses: DatasetUses, datasets: Datasets, producer: str) -> Json:
    content = uses.content
    policies = sorted_objects(_policy(reference, datasets) for reference in content.policies)
    joins = [_join(join, datasets) for join in sorted(content.joins, key=_order_of_join)]
    helpers = [
        {"namespace": namespace, "name": name, "accesses": sorted(accesses)}
        for (namespace, name), accesses in sorted(uses.helpers.items())
    ]
    return {
        **single_field("accessHistory_incompleteness", "places", content.incomplete, producer),
        **single_field("accessHistory_policies", "policies", policies, producer),
        **single_field("accessHistory_joins", "joins", joins, producer),
        **single_field("accessHistory_ddl", "changes", change_details(content, datasets), producer),
        **single_field("accessHistory_helpers", "helpers", helpers, producer),
        **single_field("accessHistory_routines", "routines", _called(uses), producer),
    }


def _identity(thing: ObjectReference, datasets: Datasets) -> Json:
    dataset = dataset_of(thing, datasets)
    return {"namespace": dataset.namespace, "name": dataset.name}


def _policy(reference: PolicyReference, datasets: Datasets) -> Json:
    return {
        **_identity(reference.protected, datasets),
        "field": reference.column_name,
        "policyKind": reference.policy_kind,
        "policyId": reference.policy_id,
        "policyName": reference.policy_name,
        "provider": reference.provider,
    }


def _order_of_join(join: Join) -> str:
    texts = (join.left.key, join.left.name, join.join_type, join.right.key, join.right.name)
    return "\n".join(text for text in texts if text is not None)


def _join(join: Join, datasets: Datasets) -> Json:
    left, right = _identity(join.left, datasets), _identity(join.right, datasets)
    return without_none({"left": left, "joinType": join.join_type, "right": right})


def _called(uses: DatasetUses) -> list[Json]:
    """The routines, and other things without data, each once with all accesses to it. One that rows give with several
    data types, and no id that would tell which is which, is there with each of them.
    """
    by_key: dict[str, list[Access]] = {}
    for access in chain(chain.from_iterable(uses.routines.values()), uses.filled_by):
        by_key.setdefault(access.thing.key, []).append(access)
    called: dict[ObjectReference, list[str]] = {}
    for key, accesses in by_key.items():
        thing = min((access.thing for access in accesses), key=_order_of_routine)
        things = (*(access.thing for access in accesses), *uses.content.also_named)
        types = {thing.data_type for thing in things if thing.key == key}
        for data_type in types - {None} or types:
            called[replace(thing, data_type=data_type)] = sorted({access.access for access in accesses})
    return [{**routine(thing), "accesses": called[thing]} for thing in sorted(called, key=_order_of_routine)]


def _order_of_routine(thing: ObjectReference) -> Any:
    return none_first((thing.name, thing.signature, thing.kind, thing.object_id, thing.data_type))


def _order_of_derivation(derivation: Derivation) -> Any:
    return _order_of_routine(derivation.source), derivation.source_type
