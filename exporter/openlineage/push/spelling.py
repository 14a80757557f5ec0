"""An event with names as its backend spells them, and without datasets whose names the backend cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.push import datahub
from exporter.openlineage.push.profiles import datasets
from exporter.openlineage.push.splitting import with_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_SNOWFLAKE: Final = "snowflake://"


@dataclass(frozen=True)
class Spelling:
    """``lower``: whether names of Snowflake's objects and columns are sent in lower case, even if quoted; ``urns``:
    whether names have to fit into DataHub's URNs (:mod:`.datahub`).
    """

    lower: bool = False
    urns: bool = False

    def spelled(self, event: Json) -> Json:
        """The event with all of its names in this spelling; the same object where nothing changes."""
        if not (self.lower or self.urns):
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
        if not self.urns:
            return {}
        return {
            (one["namespace"], one["name"]): why
            for one in datasets(event)
            if (why := datahub.unfit(one["namespace"], self._name(one["namespace"], one["name"])))
        }

    # --- names --------------------------------------------------------------------------------------------------------

    def _name(self, namespace: str, name: str) -> str:
        if not namespace.startswith(_SNOWFLAKE):
            return name
        plain = datahub.dataset_name(name) if self.urns else name
        return plain.lower() if self.lower else plain

    def _column(self, namespace: str, name: str) -> str:
        return name.lower() if self.lower and namespace.startswith(_SNOWFLAKE) else name

    def _job(self, job: Json) -> Json:
        return {**job, "name": datahub.job_name(job["namespace"], job["name"])} if self.urns else job

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
            columns = {self._column(namespace, one["name"]): one for one in reversed(facet.get("fields") or [])}
            return {**facet, "fields": [{**columns[column], "name": column} for column in reversed(columns)]}
        if name == "tags":
            return {**facet, "tags": [self._tag(namespace, one) for one in facet.get("tags") or []]}
        if name in {"columnLineage", "lineage"}:
            return self._lineage(namespace, facet)
        if name == "lifecycleStateChange" and "previousIdentifier" in facet:
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
            if name in merged:
                own = {key: [*merged[name].get(key, []), *sources] for key, sources in own.items()}
            merged[name] = {**told, **own}
        yield from merged.items()

    def _references(self, each: list[Json]) -> list[Json]:
        return [self._reference(one) for one in each]


AS_EXPORTED: Final = Spelling()


def without(event: Json, names: dict[tuple[str, str], str]) -> Json:
    """The event without these datasets, and without column lineage from them."""
    if not names:
        return event

    def kept(side: str) -> list[Json]:
        return [one for one in event.get(side) or [] if (one["namespace"], one["name"]) not in names]

    return with_inputs({**event, "outputs": kept("outputs")}, kept("inputs"))
