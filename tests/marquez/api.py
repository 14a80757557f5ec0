"""A reader of Marquez's API: its content as sets that can be compared."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
Name = tuple[str, str]
PAGE: Final = 500
DEPTH: Final = 100
"""Steps from job to job that a graph is asked for: more than there are in a row."""


@dataclass
class Marquez:
    """One server. ``url`` has no path: ``http://127.0.0.1:5000``."""

    url: str
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=4))

    def post(self, event: Any) -> int:
        """The status that an event (or any other body, given as bytes) is answered with."""
        body = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"}
        return self.http.request("POST", f"{self.url}/api/v1/lineage", body=body, headers=headers, retries=False).status

    def status(self, *path: str, **asked: str | int) -> int:
        return self._get(path, asked).status

    def get(self, *path: str, **asked: str | int) -> Json:
        """What the API shows under a path, whose parts are given as they are."""
        answer = self._get(path, asked)
        assert answer.status == 200, f"{answer.status} to {path} {asked}: {answer.data[:300]!r}"
        return dict(answer.json())

    def _get(self, path: tuple[str, ...], asked: dict[str, str | int]) -> urllib3.BaseHTTPResponse:
        where = "/".join(quote(part, safe="") for part in path)
        return self.http.request("GET", f"{self.url}/api/v1/{where}", fields={**asked}, retries=False)

    def knows(self, namespace: str) -> bool:
        return self.status("namespaces", namespace) == 200

    def listed(self, namespace: str, kind: str) -> Iterator[Json]:
        """All ``datasets`` or ``jobs`` of a namespace, page by page."""
        seen, total = 0, 1
        while seen < total:
            page = self.get("namespaces", namespace, kind, limit=PAGE, offset=seen)
            yield from page[kind]
            seen, total = seen + PAGE, page["totalCount"]

    def dataset(self, name: Name) -> Json:
        return self.get("namespaces", name[0], "datasets", name[1])

    def graph(self, node: str) -> list[Json]:
        return list(self.get("lineage", nodeId=node, depth=DEPTH)["graph"])


def fields(dataset: Json) -> list[str]:
    """The names of a dataset's fields, doubles and all, in order."""
    return sorted(one["name"] for one in dataset["fields"])


def column_edges(datasets: Iterable[Json]) -> set[tuple[Name, str, Name, str]]:
    """(source, its field, dataset, its field), as datasets show their column lineage."""
    return {
        ((source["namespace"], source["dataset"]), source["field"], (one["namespace"], one["name"]), column["name"])
        for one in datasets
        for column in one["columnLineage"] or []
        for source in column["inputFields"]
    }


def edges(nodes: Iterable[Json]) -> set[tuple[str, str]]:
    """The edges of a lineage graph: origin and destination."""
    every = [edge for node in nodes for side in ("inEdges", "outEdges") for edge in node[side]]
    return {(edge["origin"], edge["destination"]) for edge in every}


def edges_of(marquez: Marquez, jobs: Iterable[str]) -> set[tuple[str, str]]:
    """The edges of these jobs, as nodes. Accounts may share a stage, so a graph may have the jobs of others, too."""
    found, own = set[tuple[str, str]](), set(jobs)
    for job in sorted(own):
        if not any(job in edge for edge in found):
            found |= edges(marquez.graph(job))
    return {edge for edge in found if not own.isdisjoint(edge)}
