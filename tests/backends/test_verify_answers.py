"""Answers of another form than a backend's API has, while a push is read back: what is not there is missing, and
nothing else happens.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests.backends.hostile import dataset, folder, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("alone")
KEYS: Final = (
    *("name", "namespace", "id", "fields", "columnLineage", "inputs", "outputs", "graph", "state", "deleted"),
    *("data", "paging", "config_value", "columns", "nodes", "upstreamEdges", "entity", "edges", "urn", "status"),
    *("schemaMetadata", "dataProcessInstanceRelationships", "dataProcessInstanceInput", "dataJobInputOutput"),
)
VALUES: Final = (5, "x", True, None, [None], [5, "x", []], {"name": {}, "value": 5, "data": 5}, [{"name": []}])
NESTED: Final[dict[str, Any]] = {
    "graph": [{"inEdges": 5, "outEdges": [5, {"origin": []}]}],
    "columnLineage": [{"name": {}, "inputFields": [5, {"namespace": [], "dataset": {}}]}],
    "inputs": [{"namespace": {}, "name": []}],
    "nodes": [{"id": [], "fullyQualifiedName": 5}],
    "upstreamEdges": [{"fromEntity": {}, "lineageDetails": {"columnsLineage": [{"fromColumns": [[]]}]}}],
    "paging": {"after": {}},
    "config_value": {"namespaceToServiceMapping": {"snowflake://ORG-ACC": 5}},
}
FORMS: Final[list[Any]] = [{}, *(dict.fromkeys(KEYS, value) for value in VALUES), NESTED]
ENDPOINTS: Final = {
    "marquez": "api/v1/lineage",
    "openmetadata": "api/v1/openlineage/lineage",
    "datahub": "openapi/openlineage/api/v1/lineage",
}


class Server:
    def __init__(self) -> None:
        self.answer: Any = {}
        self.status, self.page = 200, ""
        """Of the answers to questions; the text in the place of JSON, if there is any."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._say(outer.page or json.dumps(outer.answer), outer.status)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_question = self.path.endswith("batchGet")
                told = [{**outer.answer, "urn": one["urn"]} for one in body] if is_question else {}
                if is_question:
                    self._say(outer.page or json.dumps(told), outer.status)
                else:
                    self._say(json.dumps(told))

            def _say(self, text: str, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.block_on_close = True, False


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize("profile", ENDPOINTS)
def test_an_answer_of_another_form_is_no_fault_of_the_program(
    profile: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [dataset("T"), *run("q", 0, reads=["S"], writes=["T"])]
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server.server_port}")
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", ENDPOINTS[profile])
    for number, form in enumerate(FORMS):
        server.answer = form
        where = folder(tmp_path / str(number), events)
        code = main(["push", str(where), "--profile", profile, "--verify", "--json", "--patience", "0"])
        printed = capsys.readouterr()
        assert code == 1, (form, printed.err)
        (verified,) = json.loads(printed.out)["verified"]
        assert verified["found"].get("columns", 0) == 0
        assert verified["missing"]["datasets"] > 0 or "name" in form


@pytest.mark.parametrize("profile", ENDPOINTS)
@pytest.mark.parametrize(("status", "page"), [(500, "broken"), (200, "<html>log in</html>"), (200, "5")])
def test_where_no_answer_can_be_read_nothing_was_read_back(
    status: int,
    page: str,
    profile: str,
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """docs/interface.md, exit codes: 3, not 1, since nothing is known to be missing."""
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server.server_port}")
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", ENDPOINTS[profile])
    where = folder(tmp_path / "out", [dataset("T"), *run("q", 0, reads=["S"], writes=["T"])])
    server.status, server.page = status, page
    assert main(["push", str(where), "--profile", profile, "--verify", "--json", "--patience", "0"]) == 3
    (verified,) = json.loads(capsys.readouterr().out)["verified"]
    assert verified["stopped"]
