"""The names of an event as its backend spells them, and the names that it cannot hold.

Datasets and columns whose names the backend cannot hold are left out with a reason.

DataHub makes a URN of each job and dataset, and a URI of each dataset. A URN is a list of parts with commas between
them, in parentheses. DataHub escapes none of these characters: a name that holds one becomes another URN, or an invalid
one. DataHub's Snowflake source writes names without quotes, and in lower case by default; only with the same spelling
are both the same table. Sources: datahub-project/datahub, OpenLineagePlatformResolver and OpenLineageJobMapper (names
to URNs), UrnValidationUtil (which URNs are valid), SnowflakeIdentifierBuilder (how the Snowflake source spells names).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote_plus

from exporter.backends.event import DatasetOrJob, Json, columns_of, datasets, thing_of
from exporter.openlineage.naming import plain_parts

FLOW: Final = "access_history"
"""The flow of all jobs: DataHub reads it from the job's name, before the first dot."""

_LONGEST: Final = 512
"""The most bytes of a URN, URL-encoded."""
_JOB_URN: Final = f"urn:li:dataJob:(urn:li:dataFlow:(snowflake,{FLOW},{{}}),{FLOW}.)"
_DATASET_URN: Final = "urn:li:dataset:(urn:li:dataPlatform:{},{},PROD)"
_PLAIN: Final = str.maketrans({",": ";", "(": "[", ")": "]", "\u241f": " "})
_in_urn: Final = re.compile(r"[,()\u241f]").search
_LEGAL: Final = re.compile(r"[A-Za-z0-9_.!~'()*;/:@&=+$,?#-]|%[0-9A-Fa-f]{2}|[^\x00-\x9f\s]")
"""A character of a path that java.net.URI accepts: what RFC 2396 allows, and letters of any language."""
_has_hash: Final = re.compile(r" \[[0-9a-f]{10}\]\Z").search
_ends_path: Final = re.compile(r"[?#]").search
_TAIL: Final = 13
"""Characters of the hash at the end of a job's name, with its brackets; the hash distinguishes the job from others."""


@lru_cache(maxsize=10_000)
def job_name(namespace: str, name: str) -> str:
    """A job's name as a task of the one flow. Characters that a URN cannot hold are replaced, and a name that is too
    long loses its middle. Such a name ends with a hash, the job's own where it has one, so it is still unique to it.
    """
    plain, room = name.translate(_PLAIN), _LONGEST - _encoded_length(_JOB_URN.format(namespace))
    is_too_long = _encoded_length(plain) > room
    if (is_too_long or plain != name) and not _has_hash(name):
        plain += f" [{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:10]}]"
    if is_too_long:
        head, tail = plain[:-_TAIL], f"\u2026{plain[-_TAIL:]}"
        while head and _encoded_length(head + tail) > room:
            head = head[:-1]
        plain = head + tail
    return f"{FLOW}.{plain}"


def dataset_name(name: str) -> str:
    """The name of a Snowflake object as DataHub's Snowflake source writes it, except for the letter case.

    >>> dataset_name('DB.S."my ""odd"" table"')
    'DB.S.my "odd" table'
    """
    return ".".join(plain_parts(name)) if '"' in name else name


@lru_cache(maxsize=10_000)
def unfit(namespace: str, name: str) -> str | None:
    """Why DataHub can make no URN of a dataset, or only that of another dataset; None where it can."""
    if match := _in_urn(name):
        return f"its name has {match[0]!r}, which separates the parts of a URN"
    if "://" in namespace or "://" in name:
        illegal = _LEGAL.sub("", name) or name[name.find("#") + 1 :].partition("#")[1]
        if illegal:
            return f"its name has {illegal[0]!r}, which a URI cannot have"
        if not namespace.startswith("snowflake://") and (end := _ends_path(name)):
            return f"its name has {end[0]!r}, which ends the path of a URI"
    if _encoded_length(_DATASET_URN.format(namespace.partition("://")[0], name)) > _LONGEST:
        return f"its name is too long: a URN has {_LONGEST} bytes at most"
    return None


def _encoded_length(text: str) -> int:
    """The length after Java's URLEncoder."""
    return len(quote_plus(text, safe="*")) + 2 * text.count("~")


_SNOWFLAKE: Final = "snowflake://"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BREAKS: Final = "it has a control character or a line break, with which the pages of the backend do not work"


@dataclass(frozen=True)
class Spelling:
    """``lower``: whether names of Snowflake's objects and columns are sent in lower case, even if quoted; ``urns``:
    whether names have to fit into DataHub's URNs; ``plain``: whether datasets and columns with control characters in
    their names are left out.
    """

    lower: bool = False
    urns: bool = False
    plain: bool = False

    def unfit(self, event: Json) -> dict[DatasetOrJob, str]:
        """The datasets of an event, as exported, that the backend cannot hold, each with the reason."""
        reasons = dict[DatasetOrJob, str | None]()
        for thing in map(thing_of, datasets(event)) if self.urns or self.plain else ():
            if self.urns:
                reasons[thing] = unfit(thing.namespace, self._name(*thing))
            else:
                reasons[thing] = None if self._holds(thing.namespace + thing.name) else _BREAKS
        return {thing: reason for thing, reason in reasons.items() if reason}

    def unfit_columns(self, event: Json) -> Iterator[str]:
        """The columns in the event's datasets that the backend cannot hold, each with the reason."""
        for dataset in datasets(event) if self.plain else ():
            for column in columns_of(dataset):
                if not self._holds(column):
                    yield f"the column {column!r} of {dataset['name']}: {_BREAKS}"

    def spelled(self, event: Json) -> Json:
        """The event with all of its names in this spelling; the same object where nothing changes."""
        if self == AS_EXPORTED:
            return event
        spelled = dict(event)
        if "job" in event:
            spelled["job"] = self._job(event["job"])
        if "run" in event:
            spelled["run"] = self._run(event["run"])
        if "dataset" in event:
            spelled["dataset"] = self._dataset(event["dataset"])
        for side in ("inputs", "outputs"):
            if event.get(side):
                spelled[side] = [self._dataset(dataset) for dataset in event[side]]
        return event if spelled == event else spelled

    # --- names --------------------------------------------------------------------------------------------------------

    def _holds(self, name: str) -> bool:
        return not (self.plain and _CONTROL.search(name))

    def _name(self, namespace: str, name: str) -> str:
        if not namespace.startswith(_SNOWFLAKE):
            return name
        plain = dataset_name(name) if self.urns else name
        return plain.lower() if self.lower else plain

    def _column(self, namespace: str, name: str) -> str:
        return name.lower() if self.lower and namespace.startswith(_SNOWFLAKE) else name

    def _job(self, job: Json) -> Json:
        name = job_name(job["namespace"], job["name"]) if self.urns else job["name"]
        if not self._holds(name):
            name = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", name)
        return {**job, "name": name}

    def _reference(self, reference: Json) -> Json:
        """A reference to a dataset, or to a column of one."""
        namespace, spelled = reference.get("namespace", ""), dict(reference)
        if "name" in reference:
            spelled["name"] = self._name(namespace, reference["name"])
        if reference.get("field"):
            spelled["field"] = self._column(namespace, reference["field"])
        return spelled

    def _references(self, references: list[Json]) -> list[Json]:
        return [
            reference
            for reference in map(self._reference, references)
            if self._holds(f"{reference.get('name')}{reference.get('field')}")
        ]

    # --- parts of an event that have names ------------------------------------------------------------------------

    def _run(self, run: Json) -> Json:
        parent = (run.get("facets") or {}).get("parent")
        if not parent:
            return run
        spelled = {**parent, "job": self._job(parent["job"])}
        if "root" in parent:
            spelled["root"] = {**parent["root"], "job": self._job(parent["root"]["job"])}
        return {**run, "facets": {**run["facets"], "parent": spelled}}

    def _dataset(self, dataset: Json) -> Json:
        namespace = dataset["namespace"]
        spelled = {**dataset, "name": self._name(namespace, dataset["name"])}
        if dataset.get("facets"):
            spelled["facets"] = {name: self._facet(namespace, name, facet) for name, facet in dataset["facets"].items()}
        return spelled

    def _facet(self, namespace: str, name: str, facet: Json) -> Json:
        spelled = dict(facet)
        if name == "schema":
            fields = [field for field in facet.get("fields") or [] if self._holds(field["name"])]
            columns = {self._column(namespace, field["name"]): field for field in reversed(fields)}
            spelled["fields"] = [{**columns[column], "name": column} for column in reversed(columns)]
        elif name == "tags":
            tags = [tag for tag in facet.get("tags") or [] if self._holds(tag.get("field") or "")]
            spelled["tags"] = [
                {**tag, "field": self._column(namespace, tag["field"])} if tag.get("field") else tag for tag in tags
            ]
        elif name in {"columnLineage", "lineage"}:
            spelled |= {key: self._references(facet[key]) for key in ("inputs", "dataset") if key in facet}
            if "fields" in facet:
                spelled["fields"] = self._lineage(namespace, facet["fields"])
        elif name == "lifecycleStateChange" and "previousIdentifier" in facet:
            spelled["previousIdentifier"] = self._reference(facet["previousIdentifier"])
            if not self._holds(facet["previousIdentifier"]["name"]):
                del spelled["previousIdentifier"]
        return spelled

    def _lineage(self, namespace: str, fields: Json) -> Json:
        """Columns with their sources. Two columns that have the same name in this spelling get the sources of both."""
        merged: dict[str, Json] = {}
        for column, field in fields.items():
            name = self._column(namespace, column)
            sources = {key: self._references(field[key]) for key in ("inputFields", "inputs") if key in field}
            if self._holds(column) and not (field.get("inputFields") and not sources["inputFields"]):
                before = merged.get(name, {})
                merged[name] = {**field, **{key: [*before.get(key, []), *own] for key, own in sources.items()}}
        return merged


AS_EXPORTED: Final = Spelling()
