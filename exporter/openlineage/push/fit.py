"""An event as its backend accepts it. A whole event where possible; several events of the same run where it is too
large; otherwise without some parts, which is recorded. A backend merges two events of one run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from exporter.openlineage.push import delivery
from exporter.openlineage.push.ledger import run_and_job
from exporter.openlineage.push.profiles import Profile, problems
from exporter.openlineage.push.spelling import (
    AS_EXPORTED,
    REPEATED_LINEAGE,
    Spelling,
    halves,
    without_datasets,
    without_facet,
)
from exporter.openlineage.settings import PRODUCER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exporter.openlineage.push.index import Item

Json = dict[str, Any]
FACETS: Final = {
    "accessHistory_runs": "https://w3id.org/access-history/facets/1-0-0/AccessHistoryRunsJobFacet.json"
    "#/$defs/AccessHistoryRunsJobFacet"
}
"""The facets that a push adds -> their ``_schemaURL``."""
MOVED_PARENT: Final = "accessHistory_parent"
"""The facet ``parent``, with its own schema, for a backend that would name the job by it."""
_OWN_FACETS: Final = "accessHistory_"
_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")


@dataclass(frozen=True)
class Fitted:
    """``bodies``: the texts to send, in this order. ``lost``: the parts that none of them has. ``refused``: why nothing
    can be sent, else empty. ``ends``: the id of the run that it ends, and ``place``: that
    run and its job, where the ledger has to record them.
    """

    bodies: tuple[bytes, ...]
    lost: tuple[str, ...] = ()
    refused: str | None = None
    ends: str | None = None
    place: str | None = None


class Fit:
    """Adapts events to a backend. ``dress``: adds the facets that the client's settings want, None where they want
    none. ``spelling``: how the backend spells names.
    """

    def __init__(
        self,
        rules: Profile,
        add_facets: Callable[[Json], Json] | None = None,
        spelling: Spelling = AS_EXPORTED,
    ) -> None:
        self._rules, self._add_facets, self._spelling = rules, add_facets, spelling

    def fit(self, event: Json, line: bytes, item: Item) -> Fitted:
        """The texts to send for an event."""
        fitted = self._fitted(event, line, item)
        if fitted.refused or not self._rules.keeps_versions or event.get("eventType") not in _ENDS:
            return fitted
        dataset_events = delivery.dataset_events(self._as_spelled(event)[0]) if item.is_again else ()
        run = event["run"]["runId"]
        return replace(
            fitted, bodies=(*fitted.bodies, *dataset_events), ends=UUID(run).hex, place=run_and_job(run, event["job"])
        )

    def _as_spelled(self, event: Json) -> tuple[Json, Mapping[tuple[str, str], str]]:
        """The event in the backend's spelling without datasets that it cannot name, and the reason for each of
        these.
        """
        unfit = self._spelling.unfit(event)
        return self._spelling.spelled(without_datasets(event, unfit)), unfit

    def _fitted(self, event: Json, line: bytes, item: Item) -> Fitted:
        adapted, unfit = self._as_spelled(_with_moved_parent(event) if self._rules.names_by_parent else event)
        left_out = [f"the dataset {name}: {why}" for (_, name), why in unfit.items()]
        left_out += self._spelling.unfit_columns(event)
        reasons = problems(
            adapted, line if adapted is event or self._rules.unique_keys else _text(adapted), self._rules
        )
        if reasons:
            return Fitted((), refused="; ".join(reasons))
        is_unchanged = adapted is event and item.runs is None and not self._add_facets
        if is_unchanged and not self._is_too_large(event, len(line)):
            return Fitted((line,))
        adapted = _with_runs(adapted, item) if item.runs is not None else adapted
        adapted = self._add_facets(adapted) if self._add_facets else adapted
        fitted = self._parts(adapted)
        return replace(fitted, lost=(*left_out, *fitted.lost))

    def _parts(self, event: Json) -> Fitted:
        bodies, lost = [], []
        for part in self._split(event):
            smaller, removed = self._reduced(part)
            body = _text(smaller)
            if self._is_too_large(smaller, len(body)):
                return Fitted((), refused=f"cannot be made small enough: {self._size(smaller, len(body))}")
            bodies.append(body)
            lost += removed
        return Fitted(tuple(bodies), tuple(dict.fromkeys(lost)))

    def _split(self, event: Json) -> Iterator[Json]:
        parts = halves(event) if self._is_too_large(event, len(_text(event))) else ()
        if not parts:
            yield event
        for half in parts:
            yield from self._split(half)

    def _reduced(self, event: Json) -> tuple[Json, list[str]]:
        """The event without facets that are not essential, until it is small enough; and the names of these facets."""
        lost = []
        for name in _dispensable(event):
            if not self._is_too_large(event, len(_text(event))):
                break
            event = _without_everywhere(event, name)
            lost.append(f"the facet {name}")
        return event, lost

    def _is_too_large(self, event: Json, size: int) -> bool:
        rules = self._rules
        too_many = rules.max_links is not None and _links(event) > rules.max_links
        return too_many or (rules.max_bytes is not None and size > rules.max_bytes)

    def _size(self, event: Json, size: int) -> str:
        return f"{size:,} bytes and {_links(event):,} links; the backend takes {self._rules.max_bytes:,} bytes"


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


def _text(event: Json) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _links(event: Json) -> int:
    return len(event.get("inputs") or ()) * len(event.get("outputs") or ())


# --- removing facets --------------------------------------------------------------------------------------------------


def _dispensable(event: Json) -> list[str]:
    """The facets that can be removed: our own first, the largest before others, then those that repeat another
    facet.
    """
    sizes: dict[str, int] = {}
    for holder in _holders(event):
        for name, facet in holder.items():
            if name.startswith(_OWN_FACETS) or name == REPEATED_LINEAGE:
                sizes[name] = sizes.get(name, 0) + len(json.dumps(facet))
    return sorted(sizes, key=lambda name: (name == REPEATED_LINEAGE, -sizes[name]))


def _holders(event: Json) -> Iterator[Json]:
    things = [event.get("run"), event.get("job"), event.get("dataset")]
    things += [*(event.get("inputs") or ()), *(event.get("outputs") or ())]
    for thing in things:
        for name in ("facets", "inputFacets", "outputFacets"):
            yield (thing or {}).get(name) or {}


def _without_everywhere(event: Json, name: str) -> Json:
    def clean(thing: Json) -> Json:
        return {
            key: without_facet(value, name) if key in ("facets", "inputFacets", "outputFacets") else value
            for key, value in thing.items()
        }

    things: Json = {key: clean(event[key]) for key in ("run", "job", "dataset") if key in event}
    sides = {key: [clean(dataset) for dataset in event[key]] for key in ("inputs", "outputs") if event.get(key)}
    return {**event, **things, **sides}
