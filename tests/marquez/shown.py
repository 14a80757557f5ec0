"""The part of Marquez's API that the tests read, on the fake Marquez."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from tests.marquez.kept import Dataset, Job, Json, Kept, Run

Edges = set[tuple[str, str]]
_SIDES: Final = ("inputs", "outputs")


class UnreadableError(Exception):
    """What it keeps and cannot show: several fields of one name, a namespace that it refused."""


def shown(kept: Kept, path: list[str], asked: dict[str, str]) -> Json:  # noqa: PLR0911 - one for each call
    """The answer to a GET. Raises KeyError for what is not there."""
    match path:
        case ["namespaces", *named] if len(named) < 2:
            return _namespaces(kept, *named)
        case ["namespaces", namespace, "datasets"]:
            own = [(name, one) for name, one in sorted(kept.datasets.items()) if name[0] == namespace]
            return _page("datasets", [_of_dataset(one, name) for name, one in own], asked)
        case ["namespaces", namespace, "datasets", name]:
            return _of_dataset(kept.datasets[namespace, name], (namespace, name))
        case ["namespaces", namespace, "jobs"]:
            return _page("jobs", [_of_job(job) for job in kept.jobs.values() if job.namespace == namespace], asked)
        case ["namespaces", namespace, "jobs", name]:
            return _of_job(kept.jobs[namespace, name], alone=True)
        case ["jobs", "runs", run_id]:
            return _of_run(kept.runs[run_id])
        case ["lineage"]:
            return {"graph": _graph(kept, asked["nodeId"], int(asked.get("depth", "20")))}
        case ["column-lineage"]:
            return {"graph": _column_graph(kept, asked["nodeId"])}
        case _:
            raise KeyError(path)


def _namespaces(kept: Kept, named: str | None = None) -> Json:
    if named is not None:
        return {"name": kept.namespaces[kept.namespaces.index(named)]}
    if kept.is_broken:
        raise UnreadableError("a namespace")
    return {"namespaces": [{"name": name} for name in sorted(kept.namespaces)]}


def _page(name: str, every: list[Json], asked: dict[str, str]) -> Json:
    begin, size = int(asked.get("offset", "0")), int(asked.get("limit", "100"))
    return {name: every[begin : begin + size], "totalCount": len(every)}


def _of_dataset(dataset: Dataset, name: tuple[str, str]) -> Json:
    current = dataset.current
    by_output: dict[str, list[Json]] = {}
    for (output, source), (read, told) in dataset.edges.items():
        shown = {"namespace": read.names[0][0], "dataset": read.names[0][1], "field": source.name, **told}
        by_output.setdefault(output.name, []).append(shown)
    return {
        **_named(*name),
        "fields": [vars(one) for one in current.fields] if current else [],
        "deleted": dataset.is_deleted,
        "lastLifecycleState": current.state if current else None,
        "description": dataset.description,
        "facets": current.facets if current else {},
        "columnLineage": [{"name": output, "inputFields": ones} for output, ones in by_output.items()] or None,
    }


def _of_job(job: Job, *, alone: bool = False) -> Json:
    """A list shows what the latest run read and wrote, a job by itself what its latest version does."""
    runs = sorted(job.runs, key=lambda run: run.time, reverse=True)
    latest = {"inputs": [*runs[0].inputs], "outputs": [*runs[0].outputs]} if runs else {side: [] for side in _SIDES}
    sides = {side: (job.shown[side] if alone else None) or latest[side] for side in _SIDES}
    named = {**_named(job.namespace, job.name), "simpleName": job.simple, "facets": job.facets}
    shown = {side: [{"namespace": one.names[0][0], "name": one.names[0][1]} for one in sides[side]] for side in sides}
    told = [_of_run(run) for run in runs[:10]]
    parent = job.parent.name if job.parent else None
    return {**named, **shown, "parentJobName": parent, "latestRun": told[0] if told else None, "latestRuns": told}


def _named(namespace: str, name: str) -> Json:
    return {"id": {"namespace": namespace, "name": name}, "namespace": namespace, "name": name}


def _of_run(run: Run) -> Json:
    times = {"startedAt": run.started, "endedAt": run.ended}
    job = {"namespace": run.job.namespace, "name": run.job.name} if run.state == "COMPLETED" else None
    return {"id": run.run_id, "state": run.state, **times, "facets": run.facets, "jobVersion": job}


# --- graphs -----------------------------------------------------------------------------------------------------------


def _id(thing: Dataset | Job) -> str:
    """``dataset:NAMESPACE:NAME``, ``job:NAMESPACE:NAME``."""
    return f"job:{thing.namespace}:{thing.name}" if isinstance(thing, Job) else "dataset:" + ":".join(thing.names[0])


def _parts(asked: str, count: int) -> list[str]:
    """The parts of a node's id. A colon before a digit or ``//`` is taken for one within an address: what begins so
    cannot be asked for.
    """
    if len(parts := re.split("[:#]", asked)) == count:
        return parts
    cuts = [*re.finditer(r":(?!//|\d)", asked)][: count - 1]
    if len(cuts) < count - 1:
        raise UnreadableError(asked)
    begins, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(asked)]
    return [asked[begin:end] for begin, end in zip(begins, ends, strict=True)]


def _graph(kept: Kept, asked: str, depth: int) -> list[Json]:
    """The jobs that share datasets with the node asked for, and with each other, and all datasets of these."""
    kind, *name = _parts(asked, 3)
    thing = kept.jobs[name[0], name[1]] if kind == "job" else kept.datasets[name[0], name[1]]
    found = [thing] if isinstance(thing, Job) else [job for job in kept.jobs.values() if thing in _touched(job)]
    reached = _reached(found[:1], [*kept.jobs.values()], depth)
    if not reached:
        return [_node(thing, set())]
    edges: Edges = {(_id(one), _id(job)) for job in reached for one in job.linked["inputs"]}
    edges |= {(_id(job), _id(one)) for job in reached for one in job.linked["outputs"]}
    nodes: list[Dataset | Job] = [*reached, *{one for job in reached for one in _touched(job)}]
    return sorted((_node(one, edges) for one in nodes), key=lambda node: str(node["id"]))


def _touched(job: Job) -> set[Dataset]:
    return {one for side in _SIDES for one in job.linked[side]}


def _reached(begun: list[Job], jobs: list[Job], depth: int) -> list[Job]:
    found, edge = [*begun], [*begun]
    for _ in range(depth):
        near = {one for job in edge for one in _touched(job)}
        edge = [job for job in jobs if job not in found and near & _touched(job)]
        found += edge
    return found


def _node(thing: Dataset | Job, edges: Edges) -> Json:
    own = _id(thing)
    sides = {
        "inEdges": [edge for edge in edges if edge[1] == own],
        "outEdges": [edge for edge in edges if edge[0] == own],
    }
    told = {side: [{"origin": origin, "destination": end} for origin, end in ones] for side, ones in sides.items()}
    return {"id": own, "type": "JOB" if isinstance(thing, Job) else "DATASET", "data": {}, **told}


def _column_graph(kept: Kept, asked: str) -> list[Json]:
    """The columns asked for and all that they were made from; an edge's origin is the column that was made."""
    begun = _asked_columns(kept, asked)
    sources = defaultdict(set)
    for dataset in kept.datasets.values():
        for (output, source), (read, _) in dataset.edges.items():
            sources[_field_id(dataset, output.name)].add(_field_id(read, source.name))
    found, edge = set(begun), set(begun)
    while edge:
        edge = {source for one in edge for source in sources[one]} - found
        found |= edge
    edges = {(one, source) for one in found for source in sources[one]}
    linked = {one for pair in edges for one in pair}
    return [
        {
            "id": one,
            "type": "DATASET_FIELD",
            "inEdges": [{"origin": made, "destination": source} for made, source in edges if made == one],
            "outEdges": [{"origin": source, "destination": made} for made, source in edges if source == one],
        }
        for one in sorted(linked)
    ]


def _field_id(dataset: Dataset, field: str) -> str:
    return ":".join(("datasetField", *dataset.names[0], field))


def _asked_columns(kept: Kept, asked: str) -> list[str]:
    kind, namespace, name, *field = _parts(asked, 4 if asked.startswith("datasetField:") else 3)
    dataset = kept.datasets[namespace, name]
    found = [_field_id(dataset, one.name) for one in dataset.fields if not field or [one.name] == field]
    if kind == "datasetField" and len(found) > 1:
        raise UnreadableError(asked)
    if not found:
        raise KeyError(asked)
    return found
