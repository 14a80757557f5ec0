"""What each backend refuses, so that it can be handled before sending; and what a push is asked for.

The limits are from the backends' documentation and, for Marquez, from tests with a running one; ``docs/backends`` has a
page for each. Nothing here needs the OpenLineage client, which is slow to import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from exporter.backends.event import Json, columns_of, datasets, edges_of, facet, thing_of
from exporter.errors import UsageError

LETTER_CASES: Final = ("lower", "keep")
"""How a push writes the names of Snowflake's objects: in lower case, or as they were exported."""
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True)
class BackendProfile:
    """The rules of a backend; None or False where there is no such rule.

    Events that it does not use are left out: those of datasets (``runs_only``), START (``complete_only``), runs that do
    not both read and write (``both_sides``). Events that are too large (``max_bytes`` of the text in UTF-8,
    ``max_links`` between inputs and outputs) are split. Others are refused: a dataset's namespace and name of more than
    ``max_name`` characters together, with a sign between them, a column's name of more than ``max_field``, a namespace
    that does not match ``namespace``, NUL, a key that an object has twice, a column's source that is no input.

    ``names_by_parent``: it names a child's job ``parent.own``, and a run stays at the job that it had first, so a
    parent that becomes known later would divide a job; the parent is sent as a facet of our own. ``keeps_versions``:
    when a run is sent again, it keeps the former versions of its outputs and may show them. ``lower_case``: by default
    it knows Snowflake's objects by names in lower case. ``urns``: names have to fit into DataHub's URNs.
    ``plain_names``: its pages cannot show names with control characters or line breaks, nor anything near them.

    ``address``: a part of a URL, and ``transport``: a kind of transport of OpenLineage's client, by which a backend is
    recognised as this one.
    """

    name: str
    runs_only: bool = False
    complete_only: bool = False
    both_sides: bool = False
    max_bytes: int | None = None
    max_links: int | None = None
    max_name: int | None = None
    max_field: int | None = None
    namespace: re.Pattern[str] | None = None
    refuses_nul: bool = False
    unique_keys: bool = False
    sources_are_inputs: bool = False
    names_by_parent: bool = False
    keeps_versions: bool = False
    lower_case: bool = False
    urns: bool = False
    plain_names: bool = False
    address: str | None = None
    transport: str | None = None


PROFILES: Final = {
    known_profile.name: known_profile
    for known_profile in (
        BackendProfile("any"),
        BackendProfile(
            "marquez",
            max_bytes=10 * 2**20,
            max_field=255,
            namespace=re.compile(r"[a-zA-Z0-9:;=/_\-.@+]{1,1024}"),
            refuses_nul=True,
            names_by_parent=True,
            keeps_versions=True,
            plain_names=True,
        ),
        BackendProfile(
            "snowflake",
            runs_only=True,
            complete_only=True,
            both_sides=True,
            sources_are_inputs=True,
            address="/lineage/external-lineage",
        ),
        BackendProfile(
            "openmetadata", runs_only=True, complete_only=True, both_sides=True, address="/api/v1/openlineage/"
        ),
        BackendProfile(
            "datahub",
            runs_only=True,
            unique_keys=True,
            lower_case=True,
            urns=True,
            address="/openapi/openlineage/",
        ),
        BackendProfile(
            "dataplex", runs_only=True, max_bytes=5_000_000, max_links=100, max_name=4_000, transport="gcplineage"
        ),
        BackendProfile("datazone", runs_only=True, max_bytes=300_000, transport="amazon_datazone_api"),
    )
}


def profile(name: str) -> BackendProfile:
    """The profile of this name; raises UsageError for an unknown name."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name}; known are {', '.join(PROFILES)}")
    return PROFILES[name]


def profile_of(address: str, transport: str) -> str | None:
    """The profile of a backend by its address and the kind of its transport; None where both are of no profile."""
    for known_profile in PROFILES.values():
        if transport == known_profile.transport or (
            known_profile.address is not None and known_profile.address in f"{address}/"
        ):
            return known_profile.name
    return None


def leaves_out(event: Json, rules: BackendProfile) -> str | None:
    """The kind of event, in the plural, if the backend does not use such events; else None."""
    if "run" not in event:
        return "events of datasets" if rules.runs_only else None
    if rules.complete_only and event.get("eventType") != "COMPLETE":
        return "START events"
    if rules.both_sides and not (event.get("inputs") and event.get("outputs")):
        return "runs that do not both read and write"
    return None


def problems(event: Json, line: bytes, rules: BackendProfile) -> list[str]:
    """Why the backend would refuse an event, apart from its size; empty where it would not."""
    texts = list(dict.fromkeys(_of_names(event, rules)))
    if rules.refuses_nul and _NUL.search(line):
        texts.append("a name or text holds the character NUL")
    if rules.unique_keys and (double_key := _double_key(line)):
        texts.append(f"an object has the key {double_key!r} twice")
    if rules.sources_are_inputs:
        listed = set(map(thing_of, event.get("inputs") or ()))
        sources = (edge.source for output in event.get("outputs") or () for edge in edges_of(output))
        unlisted = next((source for source in sources if source not in listed), None)
        texts += [f"{unlisted.name} is the source of a column but no input"] if unlisted else []
    return texts


def _of_names(event: Json, rules: BackendProfile) -> Iterator[str]:
    things = [(thing, thing["name"]) for thing in datasets(event)]
    if "job" in event:
        things.append((event["job"], ""))  # the length of its name is not limited
    for thing, name in things:
        space = thing["namespace"]
        if rules.namespace and not rules.namespace.fullmatch(space):
            yield (
                f"the namespace {space[:80]!r} has characters that the backend does not accept, or too many: "
                "map it with openlineage.namespaces"
            )
        if rules.max_name and (length := len(space) + 1 + len(name)) > rules.max_name:
            yield f"the name {name[:40]!r}… has with its namespace {length:,} characters, more than {rules.max_name:,}"
        if rules.max_field:
            for column in (*columns_of(thing), *(facet(thing, "columnLineage").get("fields") or ())):
                if len(column) > rules.max_field:
                    yield f"the column {column[:40]!r}… has {len(column):,} characters, more than {rules.max_field:,}"


def _double_key(line: bytes) -> str | None:
    doubles: list[str] = []

    def find_double(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            doubles.append(next(key for key in keys if keys.count(key) > 1))

    json.loads(line, object_pairs_hook=find_double)
    return doubles[0] if doubles else None


# --- what a push is asked for -----------------------------------------------------------------------------------------

RUNS: Final = ("all", "latest")
MOST_AT_ONCE: Final = 256
LONGEST_PATIENCE: Final = 86_400


@dataclass(frozen=True)
class PushOptions:
    """``runs``: ``all``, or the ``latest`` of each job. ``profile``: the backend's rules, None to choose by the
    address. ``letter_case`` of the names of Snowflake's objects and columns: ``lower``, or ``keep`` as they were
    exported; None for the profile's default. ``concurrency``: the most events at once. ``rate``: the most events a
    second, None for no limit. ``patience``: the seconds for which an event is tried again while the backend does not
    answer, so that a backend may be started again during a push.
    """

    runs: str = "all"
    profile: str | None = None
    letter_case: str | None = None
    concurrency: int = 8
    rate: float | None = None
    patience: float = 60.0

    def __post_init__(self) -> None:
        """Raises UsageError for an invalid value."""
        if self.profile is not None:
            profile(self.profile)
        if self.runs not in RUNS:
            raise UsageError(f"push.runs must be {' or '.join(RUNS)}, and is {self.runs!r}")
        if self.letter_case is not None and self.letter_case not in LETTER_CASES:
            raise UsageError(f"push.letter_case must be {' or '.join(LETTER_CASES)}, and is {self.letter_case!r}")
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            raise UsageError(f"push.concurrency must be from 1 to {MOST_AT_ONCE}, and is {self.concurrency}")
        if self.rate is not None and not 0 < self.rate < 1e6:
            raise UsageError(f"push.rate must be more than 0 events a second, and is {self.rate:g}")
        if not 0 <= self.patience <= LONGEST_PATIENCE:
            raise UsageError(f"push.patience must be from 0 to {LONGEST_PATIENCE} seconds, and is {self.patience:g}")
