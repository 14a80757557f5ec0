"""Small fake catalogs that take events and answer questions about them: a DataHub and an OpenMetadata.

They are written from the documentation and the published source of the two, not from a running one:

* DataHub: events become aspects as in OpenLineageJobMapper, OpenLineageRunMapper, OpenLineageDatasetMapper and
  DatahubJob (datahub-project/datahub, metadata-integration/java/openlineage-converter, of 2026), with the settings'
  defaults of DatahubOpenlineageProperties. Answers are those of ``POST /openapi/v3/entity/{entity}/batchGet``
  (EntityController: a list of ``{"urn", aspect: {"value"}}`` without the URNs that it does not have); the aspects have
  the fields of its published schemas (acryl-datahub 1.7.0.17: DataJobInputOutput, SchemaMetadata,
  DataProcessInstanceRunEvent and so on).
* OpenMetadata: edges are made as in OpenLineageMapper and kept as in LineageRepository (open-metadata/OpenMetadata);
  answers have the fields of its published schemas ``entityLineage``, ``table``, ``databaseService``, ``settings`` and
  ``openLineageSettings`` (openmetadata-ingestion 2.0.7).

Aspects and answers of both were read with the classes and models of these two packages: all were valid.
"""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
Answer = tuple[int, Any]


class Catalog(Protocol):
    """``endpoint``: where it takes events. ``heard``: the Authorization of each request."""

    endpoint: str
    heard: list[str | None]

    def answer(self, method: str, path: list[str], asked: dict[str, str], body: Any) -> Answer:
        """The status and the JSON."""


class DataHub:
    """``instance`` and ``environment``: the server's settings for datasets. ``lag``: how many questions it answers
    before it has processed any event. ``aspects``: by URN and name.
    """

    endpoint = "openapi/openlineage/api/v1/lineage"

    def __init__(self, instance: str | None = None, environment: str = "PROD", lag: int = 0) -> None:
        self.instance, self.environment, self.lag = instance, environment, lag
        self.aspects: dict[str, dict[str, Json]] = {}
        self.heard: list[str | None] = []
        self._waiting: list[Json] = []

    def answer(self, method: str, path: list[str], asked: dict[str, str], body: Any) -> Answer:  # noqa: ARG002 - the class has this parameter
        if path == self.endpoint.split("/"):
            self._waiting.append(body)
            return 202, None
        if method != "POST" or path[:3] != ["openapi", "v3", "entity"] or path[4:] != ["batchGet"]:
            return 404, {"message": "no such path"}
        self.lag -= 1
        while self.lag < 0 and self._waiting:
            self._take(self._waiting.pop(0))
        assert all(one["urn"].startswith(f"urn:li:{path[3]}:") for one in body)
        return 200, [told for one in body if (told := self._shown(one))]

    def _shown(self, wanted: Json) -> Json:
        has = self.aspects.get(wanted["urn"], {})
        shown = {name: {"value": has[name]} for name in wanted if name in has}
        return {"urn": wanted["urn"], **shown} if shown else {}

    def urn(self, one: Json) -> str:
        platform, _, rest = one["namespace"].partition("://")
        name = one["name"] if platform in {"snowflake", "file"} else f"{rest}/{one['name']}"
        name = f"{self.instance}.{name}" if self.instance else name
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{self.environment})"

    def _take(self, event: Json) -> None:
        inputs, outputs = event.get("inputs") or [], event.get("outputs") or []
        flow = f"urn:li:dataFlow:(snowflake,{event['job']['name'].partition('.')[0]},{event['job']['namespace']})"
        job = f"urn:li:dataJob:({flow},{event['job']['name']})"
        edges = {side: [{"destinationUrn": self.urn(one)} for one in ends] for side, ends in
                 (("input", inputs), ("output", outputs))}  # fmt: skip
        self._put(job, "dataJobInfo", {"name": event["job"]["name"], "type": {"string": "COMMAND"}, "flowUrn": flow})
        self._put(job, "status", {"removed": False})
        self._put(job, "dataJobInputOutput", {
            "inputDatasets": [], "outputDatasets": [], "inputDatajobs": [],
            "inputDatasetEdges": edges["input"], "outputDatasetEdges": edges["output"],
            "fineGrainedLineages": [made for one in [*inputs, *outputs] for made in self._lineages(one)],
        })  # fmt: skip
        for one in [*inputs, *outputs]:
            self._dataset(one)
        run = f"urn:li:dataProcessInstance:{event['run']['runId']}"
        stamp = {"time": 0, "actor": "urn:li:corpuser:datahub"}
        self._put(run, "dataProcessInstanceProperties", {"name": event["run"]["runId"], "created": stamp})
        self._put(run, "dataProcessInstanceInput", {"inputs": [self.urn(one) for one in inputs]})
        self._put(run, "dataProcessInstanceOutput", {"outputs": [self.urn(one) for one in outputs]})
        self._put(run, "dataProcessInstanceRelationships", {"parentTemplate": job, "upstreamInstances": []})
        state: Json = {"timestampMillis": 0, "status": "STARTED"}
        if event["eventType"] != "START":
            kind = "SUCCESS" if event["eventType"] == "COMPLETE" else "FAILURE"
            state = {**state, "status": "COMPLETE", "result": {"type": kind, "nativeResultType": event["eventType"]}}
        self._put(run, "dataProcessInstanceRunEvent", state)

    def _dataset(self, one: Json) -> None:
        urn, (platform, name, origin) = self.urn(one), self.urn(one)[len("urn:li:dataset:(") : -1].rsplit(",", 2)
        self._put(urn, "datasetKey", {"platform": platform, "name": name, "origin": origin})
        self._put(urn, "status", {"removed": False})
        if "schema" in one.get("facets", {}):
            fields = [
                {"fieldPath": column["name"], "nativeDataType": column["type"], "type": {"type": {}}}
                for column in one["facets"]["schema"]["fields"]
            ]
            told = {"schemaName": "", "platform": platform, "version": 1, "hash": "", "platformSchema": {}}
            self._put(urn, "schemaMetadata", {**told, "fields": fields})

    def _lineages(self, one: Json) -> Iterator[Json]:
        for column, told in one.get("facets", {}).get("columnLineage", {}).get("fields", {}).items():
            sources = [f"urn:li:schemaField:({self.urn(source)},{source['field']})" for source in told["inputFields"]]
            if sources:
                yield {
                    "upstreamType": "FIELD_SET",
                    "upstreams": sorted(sources),
                    "downstreamType": "FIELD_SET",
                    "downstreams": [f"urn:li:schemaField:({self.urn(one)},{column})"],
                    "confidenceScore": 1.0,
                    "transformOperation": "DIRECT:null",
                }

    def _put(self, urn: str, aspect: str, value: Json) -> None:
        self.aspects.setdefault(urn, {})[aspect] = value


class OpenMetadata:
    """``services``: the names of its services of Snowflake. ``mapping``: which of them a namespace is. ``is_admin``:
    whether who asks may read that. ``facets_read``: where it looks for column lineage; the first versions that took
    events did not look in ``facets``. ``edges``: the details of each, by the names of the tables.
    """

    endpoint = "api/v1/openlineage/lineage"

    def __init__(self, services: Iterable[str], mapping: dict[str, str] | None = None) -> None:
        self.services, self.mapping, self.is_admin = list(services), mapping or {}, True
        self.facets_read: tuple[str, ...] = ("outputFacets", "facets")
        self.tables: dict[str, list[str]] = {}
        self.edges: dict[tuple[str, str], Json] = {}
        self.heard: list[str | None] = []

    def add_table(self, name: str, columns: Iterable[str]) -> None:
        """What the connector for Snowflake does. ``name``: fully qualified."""
        self.tables[name] = list(columns)

    def answer(self, method: str, path: list[str], asked: dict[str, str], body: Any) -> Answer:
        if method == "POST" and path == self.endpoint.split("/"):
            made = self._take(body)
            message = f"Created {made} lineage edge(s)" if made else "Event processed, no lineage edges created"
            return 200, {"status": "success", "message": message, "lineageEdgesCreated": made}
        match path[2:] if path[:2] == ["api", "v1"] else path:
            case ["system", "settings", "openLineageSettings"]:
                told = {"enabled": True, "eventTypeFilter": ["COMPLETE"], "namespaceToServiceMapping": self.mapping}
                settings = {"config_type": "openLineageSettings", "config_value": told}
                return (200, settings) if self.is_admin else (403, {"code": 403, "message": "not admin"})
            case ["services", "databaseServices"]:
                return 200, self._page(int(asked.get("after", 0)))
            case ["tables", "name", name] if name in self.tables:
                return 200, self._table(name)
            case ["lineage", "table", "name", name] if name in self.tables:
                return 200, self._lineage(name)
        return 404, {"code": 404, "message": f"instance for {path[-1]} not found"}

    def _page(self, after: int) -> Json:
        """One service a page: a longer list would hide whether all pages are read."""
        every = [*self.services, "other"]
        kind = "Snowflake" if after < len(self.services) else "Mysql"
        one = {"id": _id(every[after]), "name": every[after], "fullyQualifiedName": every[after], "serviceType": kind}
        paging = {"total": len(every), **({"after": str(after + 1)} if after + 1 < len(every) else {})}
        return {"data": [one], "paging": paging}

    def _table(self, name: str) -> Json:
        columns = [
            {"name": one, "dataType": "UNKNOWN", "fullyQualifiedName": f"{name}.{one}"} for one in self.tables[name]
        ]
        own = name.rpartition(".")[2]
        return {"id": _id(name), "name": own, "fullyQualifiedName": name, "columns": columns}

    def _lineage(self, name: str) -> Json:
        nodes, edges = [], []
        for (source, target), details in self.edges.items():
            if target == name:
                nodes.append({"id": _id(source), "type": "table", "fullyQualifiedName": source})
                edges.append({"fromEntity": _id(source), "toEntity": _id(target), "lineageDetails": details})
        entity = {"id": _id(name), "type": "table", "fullyQualifiedName": name}
        return {"entity": entity, "nodes": nodes, "upstreamEdges": edges, "downstreamEdges": []}

    def _found(self, one: Json) -> str | None:
        own = ".".join(one["name"].split(".")[-3:])
        mapped = self.mapping.get(one["namespace"])
        names = [f"{service}.{own}" for service in ([mapped] if mapped else self.services)]
        return next((name for name in names if name in self.tables), None)

    def _take(self, event: Json) -> int:
        if event.get("eventType") != "COMPLETE":
            return 0
        found = {(one["namespace"], one["name"]): self._found(one) for one in event["inputs"]}
        made = 0
        for output in event["outputs"]:
            target = self._found(output)
            holders = [output[place] for place in self.facets_read if "columnLineage" in output.get(place, {})]
            fields = holders[0]["columnLineage"]["fields"] if holders else {}
            for source in dict.fromkeys(found.values()):
                if source and target:
                    columns = list(self._columns(fields, found, source, target))
                    if all(
                        self._is_column(one) for told in columns for one in [*told["fromColumns"], told["toColumn"]]
                    ):
                        details = {"source": "OpenLineage", "sqlQuery": None, "columnsLineage": columns or None}
                        self.edges[source, target] = details
                        made += 1
        return made

    def _columns(
        self, fields: Json, found: dict[tuple[str, str], str | None], source: str, target: str
    ) -> Iterator[Json]:
        for column, told in fields.items():
            starts = [
                f"{source}.{one['field']}"
                for one in told["inputFields"]
                if found.get((one["namespace"], one["name"])) == source
            ]
            if starts:
                yield {"fromColumns": starts, "toColumn": f"{target}.{column}"}

    def _is_column(self, name: str) -> bool:
        table, _, column = name.rpartition(".")
        return column in self.tables.get(table, ())


def _id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


@contextmanager
def started(catalog: Catalog) -> Iterator[str]:
    """Its address while it runs."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self) -> None:
            self._answer(None)

        def _answer(self, body: Any) -> None:
            address = urlsplit(self.path)
            path = [unquote(part) for part in address.path.strip("/").split("/")]
            asked = {name: values[0] for name, values in parse_qs(address.query).items()}
            with lock:
                catalog.heard.append(self.headers.get("Authorization"))
                status, told = catalog.answer(self.command, path, asked, body)
            text = json.dumps(told).encode() if told is not None else b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Nothing: a test's output is its result."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
