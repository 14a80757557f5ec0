"""An event with names as its backend spells them, and without datasets whose names the backend cannot hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.push import datahub
from exporter.openlineage.push.profiles import datasets
from exporter.openlineage.push.splitting import with_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_SNOWFLAKE: Final = "snowflake://"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_control: Final = _CONTROL.search
_BREAKS: Final = "it has a control character or a line break, with which the pages of the backend do not work"


@dataclass(frozen=True)
class Spelling:
    """``lower``: whether names of Snowflake's objects and columns are sent in lower case, even if quoted; ``urns``:
    whether names have to fit into DataHub's URNs (:mod:`.datahub`); ``plain``: whether datasets and columns with
    control characters in their names are left out.
    """

    lower: bool = False
    urns: bool = False
    plain: bool = False

    def spelled(self, event: Json) -> Json:
        """The event with all of its names in this spelling; the same object where nothing changes."""
        if not (self.lower or self.urns or (self.plain and any(map(_control, _names(event))))):
            return event
        told = dict(event)
        if "job" in told:
            told["job"] = self._job(told["job"])
        if "run" in told:
            told["run"] = self._run(told["run"])
        if "dataset" in told:
            told["dataset"] = self._dataset(told["dataset"])
        for side in ("inputs", "outputs"):
            if told.get(side):
                told[side] = [self._dataset(one) for one in told[side]]
        return told

    def unfit(self, event: Json) -> dict[tuple[str, str], str]:
        """The datasets of an event, as exported, that the backend cannot hold, each with the reason."""
        if not (self.urns or self.plain):
            return {}
        return {(one["namespace"], one["name"]): why for one in datasets(event) if (why := self._unfit(one))}

    def _unfit(self, one: Json) -> str | None:
        if self.urns:
            return datahub.unfit(one["namespace"], self._name(one["namespace"], one["name"]))
        return None if self._holds(one["namespace"] + one["name"]) else _BREAKS

    def unfit_columns(self, event: Json) -> Iterator[str]:
        """The columns in the event's datasets that the backend cannot hold, each with the reason."""
        for one in datasets(event) if self.plain else ():
            schema = (one.get("facets") or {}).get("schema") or {}
            for column in schema.get("fields") or ():
                if not self._holds(column["name"]):
                    yield f"the column {column['name']!r} of {one['name']}: {_BREAKS}"

    def _holds(self, name: str) -> bool:
        return not (self.plain and _control(name))

    # --- names --------------------------------------------------------------------------------------------------------

    def _name(self, namespace: str, name: str) -> str:
        if not namespace.startswith(_SNOWFLAKE):
            return name
        plain = datahub.dataset_name(name) if self.urns else name
        return plain.lower() if self.lower else plain

    def _column(self, namespace: str, name: str) -> str:
        return name.lower() if self.lower and namespace.startswith(_SNOWFLAKE) else name

    def _job(self, job: Json) -> Json:
        name = datahub.job_name(job["namespace"], job["name"]) if self.urns else job["name"]
        return {**job, "name": name if self._holds(name) else _CONTROL.sub(_escaped, name)}

    def _reference(self, one: Json) -> Json:
        """A reference to a dataset, or to a column of one."""
        namespace = one.get("namespace", "")
        told = {**one, "name": self._name(namespace, one["name"])} if "name" in one else dict(one)
        return {**told, "field": self._column(namespace, one["field"])} if one.get("field") else told

    # --- parts of an event that have names ------------------------------------------------------------------------

    def _run(self, run: Json) -> Json:
        parent = (run.get("facets") or {}).get("parent")
        if not parent:
            return run
        told = {**parent, "job": self._job(parent["job"])}
        if "root" in parent:
            told["root"] = {**parent["root"], "job": self._job(parent["root"]["job"])}
        return {**run, "facets": {**run["facets"], "parent": told}}

    def _dataset(self, one: Json) -> Json:
        namespace = one["namespace"]
        told = {**one, "name": self._name(namespace, one["name"])}
        if one.get("facets"):
            told["facets"] = {name: self._facet(namespace, name, facet) for name, facet in one["facets"].items()}
        return told

    def _facet(self, namespace: str, name: str, facet: Json) -> Json:
        if name == "schema":
            fields = [one for one in facet.get("fields") or [] if self._holds(one["name"])]
            columns = {self._column(namespace, one["name"]): one for one in reversed(fields)}
            return {**facet, "fields": [{**columns[column], "name": column} for column in reversed(columns)]}
        if name == "tags":
            tags = [one for one in facet.get("tags") or [] if self._holds(one.get("field") or "")]
            return {**facet, "tags": [self._tag(namespace, one) for one in tags]}
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
        told = dict(facet)
        for key in ("inputs", "dataset"):
            if key in facet:
                told[key] = self._references(facet[key])
        if "fields" in facet:
            told["fields"] = dict(self._fields(namespace, facet["fields"]))
        return told

    def _fields(self, namespace: str, fields: Json) -> Iterator[tuple[str, Json]]:
        """Columns with their sources. Two columns that have the same name in this spelling get the sources of both."""
        merged: dict[str, Json] = {}
        for column, told in fields.items():
            name = self._column(namespace, column)
            own = {key: self._references(told[key]) for key in ("inputFields", "inputs") if key in told}
            if not self._holds(column) or (told.get("inputFields") and not own["inputFields"]):
                continue
            if name in merged:
                own = {key: [*merged[name].get(key, []), *sources] for key, sources in own.items()}
            merged[name] = {**told, **own}
        yield from merged.items()

    def _references(self, each: list[Json]) -> list[Json]:
        return [self._reference(one) for one in each if self._holds(f"{one.get('name')}{one.get('field') or ''}")]


def _names(event: Json) -> Iterator[str]:
    """The names in an event that a backend shows."""
    yield (event.get("job") or {}).get("name", "")
    for one in datasets(event):
        yield one["namespace"]
        yield one["name"]
        facets = one.get("facets") or {}
        yield (facets.get("lifecycleStateChange") or {}).get("previousIdentifier", {}).get("name", "")
        yield from (column["name"] for column in (facets.get("schema") or {}).get("fields") or ())
        for column, told in ((facets.get("columnLineage") or {}).get("fields") or {}).items():
            yield column
            yield from (f"{source.get('name')}{source.get('field')}" for source in told.get("inputFields") or ())


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


AS_EXPORTED: Final = Spelling()


def without(event: Json, names: dict[tuple[str, str], str]) -> Json:
    """The event without these datasets, and without column lineage from them."""
    if not names:
        return event

    def kept(side: str) -> list[Json]:
        return [one for one in event.get(side) or [] if (one["namespace"], one["name"]) not in names]

    return with_inputs({**event, "outputs": kept("outputs")}, kept("inputs"))
