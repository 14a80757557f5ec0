"""An event as its backend spells it: names, what the backend cannot hold, and events that are too large.

An event that is too large is split into several that add up to it: halves, or the parts that concern some of its
inputs. Datasets whose names the backend cannot hold are left out with a reason.

DataHub makes a URN of each job and dataset, and a URI of each dataset. A URN is a list of parts with commas between
them, in parentheses. DataHub escapes none of these characters: a name that holds one becomes another URN, or an invalid
one. DataHub's Snowflake source writes names without quotes, and in lower case by default; only with the same spelling
are both the same table. Sources: datahub-project/datahub, OpenLineagePlatformResolver and OpenLineageJobMapper (names
to URNs), UrnValidationUtil (which URNs are valid), SnowflakeIdentifierBuilder (how the Snowflake source spells names).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from exporter.openlineage.naming import parts
from exporter.openlineage.push.profiles import datasets

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
REPEATED_LINEAGE: Final = "lineage"
"""A facet that repeats the column lineage of ``columnLineage``."""


def halves(event: Json) -> tuple[Json, ...]:
    """Two events that add up to this one; empty where it cannot be split."""
    inputs, outputs = event.get("inputs") or [], event.get("outputs") or []
    if len(outputs) > 1:
        return tuple({**event, "outputs": part} for part in _two_halves(outputs))
    if len(inputs) > 1:
        return tuple(with_inputs(event, part) for part in _two_halves(inputs))
    if not outputs:
        return ()
    fields = list(((outputs[0].get("facets") or {}).get("columnLineage") or {}).get("fields") or {})
    if len(fields) < 2:
        return ()
    return tuple({**event, "outputs": [_with_fields(outputs[0], set(part))]} for part in _two_halves(fields))


def _two_halves(things: list[Any]) -> tuple[list[Any], list[Any]]:
    middle = len(things) // 2
    return things[:middle], things[middle:]


def with_inputs(event: Json, inputs: list[Json]) -> Json:
    """The event with these inputs only, and with the column lineage from them."""
    sources = {(dataset["namespace"], dataset["name"]) for dataset in inputs}

    def narrow(output: Json) -> Json:
        facets = dict(output.get("facets") or {})
        for name, key in (("columnLineage", "inputFields"), (REPEATED_LINEAGE, "inputs")):
            if name in facets:
                facets[name] = _of_sources(facets[name], key, sources)
        has_columns = bool(facets.get("columnLineage", {}).get("fields"))
        return {**output, "facets": facets if has_columns else without_facet(facets, "columnLineage")}

    return {**event, "inputs": inputs, "outputs": [narrow(dataset) for dataset in event["outputs"]]}


def _of_sources(facet: Json, key: str, names: set[tuple[str, str]]) -> Json:
    """A facet of sources by column, with the sources in these datasets only."""

    def own(sources: list[Json]) -> list[Json]:
        return [source for source in sources if (source.get("namespace"), source.get("name")) in names]

    fields = {column: {**lineage, key: own(lineage[key])} for column, lineage in (facet.get("fields") or {}).items()}
    narrowed = {**facet, "fields": {column: field for column, field in fields.items() if field[key]}}
    for name in ("inputs", "dataset"):
        if name in facet:
            narrowed[name] = own(facet[name])
    return narrowed if narrowed["fields"] or "fields" in facet else without_facet(narrowed, "fields")


def _with_fields(output: Json, columns: set[str]) -> Json:
    facets = dict(output["facets"])
    for name in ("columnLineage", REPEATED_LINEAGE):
        if "fields" in facets.get(name, {}):
            by_column = {column: lineage for column, lineage in facets[name]["fields"].items() if column in columns}
            facets[name] = {**facets[name], "fields": by_column}
    return {**output, "facets": facets}


def without_facet(facets: Json, name: str) -> Json:
    """The facets without one of them."""
    return {key: value for key, value in facets.items() if key != name}


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
    if '"' not in name:
        return name
    return ".".join(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts(name))


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
_control: Final = _CONTROL.search
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

    def spelled(self, event: Json) -> Json:
        """The event with all of its names in this spelling; the same object where nothing changes."""
        if not (self.lower or self.urns or (self.plain and any(map(_control, _names(event))))):
            return event
        spelled = dict(event)
        if "job" in spelled:
            spelled["job"] = self._job(spelled["job"])
        if "run" in spelled:
            spelled["run"] = self._run(spelled["run"])
        if "dataset" in spelled:
            spelled["dataset"] = self._dataset(spelled["dataset"])
        for side in ("inputs", "outputs"):
            if spelled.get(side):
                spelled[side] = [self._dataset(dataset) for dataset in spelled[side]]
        return spelled

    def unfit(self, event: Json) -> dict[tuple[str, str], str]:
        """The datasets of an event, as exported, that the backend cannot hold, each with the reason."""
        if not (self.urns or self.plain):
            return {}
        return {
            (dataset["namespace"], dataset["name"]): why for dataset in datasets(event) if (why := self._unfit(dataset))
        }

    def _unfit(self, dataset: Json) -> str | None:
        if self.urns:
            return unfit(dataset["namespace"], self._name(dataset["namespace"], dataset["name"]))
        return None if self._holds(dataset["namespace"] + dataset["name"]) else _BREAKS

    def unfit_columns(self, event: Json) -> Iterator[str]:
        """The columns in the event's datasets that the backend cannot hold, each with the reason."""
        for dataset in datasets(event) if self.plain else ():
            schema = (dataset.get("facets") or {}).get("schema") or {}
            for column in schema.get("fields") or ():
                if not self._holds(column["name"]):
                    yield f"the column {column['name']!r} of {dataset['name']}: {_BREAKS}"

    def _holds(self, name: str) -> bool:
        return not (self.plain and _control(name))

    # --- names --------------------------------------------------------------------------------------------------------

    def _name(self, namespace: str, name: str) -> str:
        if not namespace.startswith(_SNOWFLAKE):
            return name
        plain = dataset_name(name) if self.urns else name
        return plain.lower() if self.lower else plain

    def _column(self, namespace: str, name: str) -> str:
        return name.lower() if self.lower and namespace.startswith(_SNOWFLAKE) else name

    def _job(self, job: Json) -> Json:
        name = job_name(job["namespace"], job["name"]) if self.urns else job["name"]
        return {**job, "name": name if self._holds(name) else _CONTROL.sub(_escaped, name)}

    def _reference(self, reference: Json) -> Json:
        """A reference to a dataset, or to a column of one."""
        namespace = reference.get("namespace", "")
        spelled = (
            {**reference, "name": self._name(namespace, reference["name"])} if "name" in reference else dict(reference)
        )
        return {**spelled, "field": self._column(namespace, reference["field"])} if reference.get("field") else spelled

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
        if name == "schema":
            fields = [field for field in facet.get("fields") or [] if self._holds(field["name"])]
            columns = {self._column(namespace, field["name"]): field for field in reversed(fields)}
            return {**facet, "fields": [{**columns[column], "name": column} for column in reversed(columns)]}
        if name == "tags":
            tags = [tag for tag in facet.get("tags") or [] if self._holds(tag.get("field") or "")]
            return {**facet, "tags": [self._tag(namespace, tag) for tag in tags]}
        if name in {"columnLineage", "lineage"}:
            return self._lineage(namespace, facet)
        if name == "lifecycleStateChange" and "previousIdentifier" in facet:
            if not self._holds(facet["previousIdentifier"]["name"]):
                return {key: value for key, value in facet.items() if key != "previousIdentifier"}
            return {**facet, "previousIdentifier": self._reference(facet["previousIdentifier"])}
        return facet

    def _tag(self, namespace: str, tag: Json) -> Json:
        return {**tag, "field": self._column(namespace, tag["field"])} if tag.get("field") else tag

    def _lineage(self, namespace: str, facet: Json) -> Json:
        spelled = dict(facet)
        for key in ("inputs", "dataset"):
            if key in facet:
                spelled[key] = self._references(facet[key])
        if "fields" in facet:
            spelled["fields"] = dict(self._fields(namespace, facet["fields"]))
        return spelled

    def _fields(self, namespace: str, fields: Json) -> Iterator[tuple[str, Json]]:
        """Columns with their sources. Two columns that have the same name in this spelling get the sources of both."""
        merged: dict[str, Json] = {}
        for column, field in fields.items():
            name = self._column(namespace, column)
            sources_by_key = {key: self._references(field[key]) for key in ("inputFields", "inputs") if key in field}
            if not self._holds(column) or (field.get("inputFields") and not sources_by_key["inputFields"]):
                continue
            if name in merged:
                sources_by_key = {
                    key: [*merged[name].get(key, []), *sources] for key, sources in sources_by_key.items()
                }
            merged[name] = {**field, **sources_by_key}
        yield from merged.items()

    def _references(self, references: list[Json]) -> list[Json]:
        return [
            self._reference(reference)
            for reference in references
            if self._holds(f"{reference.get('name')}{reference.get('field') or ''}")
        ]


def _names(event: Json) -> Iterator[str]:
    """The names in an event that a backend shows."""
    yield (event.get("job") or {}).get("name", "")
    for dataset in datasets(event):
        yield dataset["namespace"]
        yield dataset["name"]
        facets = dataset.get("facets") or {}
        yield (facets.get("lifecycleStateChange") or {}).get("previousIdentifier", {}).get("name", "")
        yield from (column["name"] for column in (facets.get("schema") or {}).get("fields") or ())
        for column, lineage in ((facets.get("columnLineage") or {}).get("fields") or {}).items():
            yield column
            yield from (f"{source.get('name')}{source.get('field')}" for source in lineage.get("inputFields") or ())


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


AS_EXPORTED: Final = Spelling()


def without_datasets(event: Json, names: dict[tuple[str, str], str]) -> Json:
    """The event without these datasets, and without column lineage from them."""
    if not names:
        return event

    def remaining(side: str) -> list[Json]:
        return [dataset for dataset in event.get(side) or [] if (dataset["namespace"], dataset["name"]) not in names]

    return with_inputs({**event, "outputs": remaining("outputs")}, remaining("inputs"))
