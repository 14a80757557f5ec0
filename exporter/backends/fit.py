"""An event as its backend accepts it. A whole event where possible; several events of the same run where it is too
large; otherwise without some parts, which is recorded. A backend merges two events of one run.

A run that is sent again with other content ends a microsecond later than before, for Marquez: of two values of a facet
of a run, it shows that of the later event, or any of those with the same time (``RunDao``: ``JSON_AGG`` in the order of
the events' times).

After such a run, there is one more event for each of its outputs. Marquez 0.51.1 makes a version of an
output for each set of columns in the events of a run. When the run ends, it makes all of the run's versions the current
one, one after the other and in no defined order (``findOutputDatasetVersionsFor``). So it may show the columns of the
first time. The event of a dataset always becomes the current version, so it corrects this. Its time is that of the
push: events of a dataset with the same columns share one version, with all of their facets, and of a facet that several
have, Marquez shows that of the latest event, or any of those with the same time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from exporter.backends.event import (
    LAST_EVENTS,
    REPEATED_LINEAGE,
    Json,
    datasets,
    halves,
    text_of,
    without_datasets,
)
from exporter.backends.ledger import ENDED, PLACED, run_and_job
from exporter.backends.profiles import BackendProfile, problems
from exporter.backends.spelling import AS_EXPORTED, Spelling
from exporter.openlineage import facets
from exporter.openlineage.settings import PRODUCER

if TYPE_CHECKING:
    from exporter.backends.index import Item

FACETS: Final = {
    "accessHistory_runs": "https://w3id.org/access-history/facets/1-0-0/AccessHistoryRunsJobFacet.json"
    "#/$defs/AccessHistoryRunsJobFacet"
}
"""The facets that a push adds -> their ``_schemaURL``."""
MOVED_PARENT: Final = "accessHistory_parent"
"""The facet ``parent``, with its own schema, for a backend that would name the job by it."""
_OWN_FACETS: Final = "accessHistory_"
_OF_THE_RUN: Final = frozenset(("columnLineage", REPEATED_LINEAGE, "accessHistory_columnRoutines"))
"""Facets that describe what the run did, and not what the dataset is."""
_HOLDERS: Final = ("facets", "inputFacets", "outputFacets")


@dataclass(frozen=True)
class Fitted:
    """``bodies``: the texts to send, in this order. ``lost``: the parts that none of them has. ``refused``: why nothing
    can be sent, else None. ``records``: the signs and marks that the ledger needs, too, when they were taken.
    """

    bodies: tuple[bytes, ...]
    lost: tuple[str, ...] = ()
    refused: str | None = None
    records: tuple[tuple[str, str], ...] = ()


class Fit:
    """Adapts events to a backend. ``add_facets``: adds those that the client's settings want, None where they want
    none. ``spelling``: how the backend spells names.
    """

    def __init__(
        self,
        rules: BackendProfile,
        add_facets: Callable[[Json], Json] | None = None,
        spelling: Spelling = AS_EXPORTED,
    ) -> None:
        self._rules, self._add_facets, self._spelling = rules, add_facets, spelling

    def fit(self, event: Json, line: bytes, item: Item) -> Fitted:
        """The texts to send for an event; ``line``: its text."""
        rules, unfit = self._rules, self._spelling.unfit(event)
        moved = _with_moved_parent(event) if rules.names_by_parent else event
        adapted = self._spelling.spelled(without_datasets(moved, unfit))
        is_again = rules.keeps_versions and item.ends > 0
        if is_again:
            adapted = _later(adapted, item.ends)
        text = line if adapted is event else text_of(adapted)
        if reasons := problems(adapted, line if rules.unique_keys else text, rules):
            return Fitted((), refused="; ".join(reasons))
        lost = [f"the dataset {thing.name}: {reason}" for thing, reason in unfit.items()]
        lost += self._spelling.unfit_columns(event)
        parts = [text]
        if adapted is not event or item.runs is not None or self._add_facets or self._is_too_large(event, line):
            whole = adapted if item.runs is None else _with_runs(adapted, item)
            parts, lost_facets = [], dict[str, None]()
            for part in self._split(self._add_facets(whole) if self._add_facets else whole):
                text, removed = self._reduced(part)
                if self._is_too_large(part, text):
                    size = f"{len(text):,} bytes and {_links(part):,} links"
                    return Fitted(
                        (), refused=f"cannot be made small enough: {size}; the backend takes {rules.max_bytes:,} bytes"
                    )
                parts.append(text)
                lost_facets |= dict.fromkeys(removed)
            lost += (f"the facet {name}" for name in lost_facets)
        records: tuple[tuple[str, str], ...] = ()
        if "run" in event and event.get("eventType") in LAST_EVENTS:
            run = event["run"]["runId"]
            records = ((ENDED, UUID(run).hex),)
            if rules.keeps_versions:
                records += ((PLACED, run_and_job(run, event["job"])),)
            if is_again:
                parts += _dataset_events(adapted, datetime.now(UTC).isoformat(timespec="microseconds"))
        return Fitted(tuple(parts), tuple(lost), records=records)

    def _split(self, event: Json) -> Iterator[Json]:
        """Events that add up to this one, each small enough unless it cannot be split any more."""
        parts = halves(event) if self._is_too_large(event, text_of(event)) else ()
        if not parts:
            yield event
        for half in parts:
            yield from self._split(half)

    def _reduced(self, event: Json) -> tuple[bytes, list[str]]:
        """The event's text without facets that are not essential, until it is small enough; and their names."""
        text, names = text_of(event), _dispensable(event)
        lost = list[str]()
        while names and self._is_too_large(event, text):
            lost.append(names.pop(0))
            event = _without_facet(event, lost[-1])
            text = text_of(event)
        return text, lost

    def _is_too_large(self, event: Json, text: bytes) -> bool:
        rules = self._rules
        has_too_many_links = rules.max_links is not None and _links(event) > rules.max_links
        return has_too_many_links or (rules.max_bytes is not None and len(text) > rules.max_bytes)


def _later(event: Json, microseconds: int) -> Json:
    """The event with a later time."""
    time = datetime.fromisoformat(event["eventTime"]) + timedelta(microseconds=microseconds)
    return {**event, "eventTime": time.isoformat().replace("+00:00", "Z")}


def _dataset_events(event: Json, time: str) -> Iterator[bytes]:
    """The dataset events of the outputs: their facets from the run, without those of the run itself. ``tags`` is there
    also if it is empty: an event without it would not take tags away. ``time``: of the events, in ISO 8601.
    """
    producer = event.get("producer", PRODUCER)
    common: Json = {"eventTime": time, "producer": producer}
    schema = event.get("schemaURL", "").rpartition("/")[0]
    for output in event.get("outputs") or ():
        of_dataset = {name: facet for name, facet in (output.get("facets") or {}).items() if name not in _OF_THE_RUN}
        of_dataset = {**facets.facet("tags", {"tags": []}, producer), **of_dataset}
        dataset = {"namespace": output["namespace"], "name": output["name"], "facets": of_dataset}
        yield text_of({**common, "schemaURL": f"{schema}/DatasetEvent", "dataset": dataset})


def _with_runs(event: Json, item: Item) -> Json:
    """The event with a facet about the runs of its job that it represents."""
    facet = {
        "_producer": event.get("producer", PRODUCER),
        "_schemaURL": FACETS["accessHistory_runs"],
        "runs": item.runs,
        "first": item.first,
        "last": item.last,
    }
    job = event["job"]
    return {**event, "job": {**job, "facets": {**(job.get("facets") or {}), "accessHistory_runs": facet}}}


def _with_moved_parent(event: Json) -> Json:
    """The event with its parent under a name of our own; the same object where it has none."""
    run = event.get("run") or {}
    facets = dict(run.get("facets") or {})
    if "parent" not in facets:
        return event
    facets[MOVED_PARENT] = facets.pop("parent")
    return {**event, "run": {**run, "facets": facets}}


def _links(event: Json) -> int:
    return len(event.get("inputs") or ()) * len(event.get("outputs") or ())


def _dispensable(event: Json) -> list[str]:
    """The facets that can be removed: our own first, the largest before others, then those that repeat another
    facet.
    """
    sizes: dict[str, int] = {}
    things = [*(event[key] for key in ("run", "job") if key in event), *datasets(event)]
    for of_thing in (thing.get(holder) or {} for thing in things for holder in _HOLDERS):
        for name, facet in of_thing.items():
            if name.startswith(_OWN_FACETS) or name == REPEATED_LINEAGE:
                sizes[name] = sizes.get(name, 0) + len(json.dumps(facet))
    return sorted(sizes, key=lambda name: (name == REPEATED_LINEAGE, -sizes[name]))


def _without_facet(event: Json, name: str) -> Json:
    """The event without a facet, wherever it has it."""

    def clean(thing: Json) -> Json:
        facets = {holder: dict(thing[holder]) for holder in _HOLDERS if thing.get(holder)}
        for facets_by_name in facets.values():
            facets_by_name.pop(name, None)
        return {**thing, **facets}

    things: Json = {key: clean(event[key]) for key in ("run", "job", "dataset") if key in event}
    sides = {key: [clean(dataset) for dataset in event[key]] for key in ("inputs", "outputs") if event.get(key)}
    return {**event, **things, **sides}
