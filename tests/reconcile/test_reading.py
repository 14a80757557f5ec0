"""Declarations are other people's files: what cannot be used is said with its file and place, and is exit 2."""

from __future__ import annotations

import gzip
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

from exporter.cli import main
from exporter.reconcile.declared import DeclaredEdge
from exporter.reconcile.reading import read
from tests.marquez.standin import running
from tests.reconcile.small import classes, compared, dataset, event, filled, made, manifest, model, said, thing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

Capsys = pytest.CaptureFixture[str]
A, T = thing(10, "A"), thing(13, "T")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made([filled("q1", 2, T, A, C=[(A, "C")])], tmp_path_factory.mktemp("graph"))


DEEP: Final = '{"metadata":' + "[" * 100_000
UNUSABLE: Final = {
    "empty": ("", "is empty"),
    "no JSON": ("{metadata}", "is no JSON"),
    "a number": ("5", "Expected `object`, got `int`"),
    "a list of numbers": ("[1]", "element 1: is no OpenLineage event"),
    "another document": ('{"a": 1}', "is neither a manifest of dbt nor an event of OpenLineage"),
    "too deep": (DEEP, "is nested too deep"),
    "too deep in an array": ("[" * 100_000, "is nested too deep"),
    "a catalog": (
        '{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"}, "nodes": {}}',
        "is dbt's catalog, which has columns and no lineage",
    ),
    "nodes in a list": ('{"metadata": {}, "nodes": []}', "Expected `object`, got `array` - at `$.nodes`"),
    "a node of a wrong type": (
        json.dumps(manifest({"t": {**model("t"), "relation_name": 7}})),
        "nodes, model.p.t: Expected `str | null`, got `int` - at `$.relation_name`",
    ),
    "an empty name": (json.dumps(event([dataset("")], [dataset("d.s.t")])), "a dataset's name has 0 characters"),
    "a long name": (json.dumps(event([dataset("x" * 5000)], [dataset("d.s.t")])), "5,000 characters"),
    "no time": (json.dumps({**event([], []), "eventTime": "soon"}), "eventTime 'soon' is not a time"),
    "a line that is none": (json.dumps(event([], [])) + "\n{oops\n", "line 2: is no OpenLineage event"),
    "inputs of a wrong type": (
        json.dumps({**event([], []), "inputs": "d.s.a"}),
        "Expected `array | null`, got `str` - at `$.inputs`",
    ),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_what_cannot_be_used(kind: str, graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    text, words = UNUSABLE[kind]
    file = tmp_path / "given.json"
    file.write_text(text, encoding="utf-8")
    assert main(["reconcile", str(graph), str(file)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "given.json" in shown.err
    assert (shown.out, "Traceback" in shown.err) == ("", False)


def test_files_that_are_not_there_or_damaged(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b"{}" * 5000)[:40])
    for name, words in (("none.json", "No such file"), (".", "Is a directory"), ("cut.json.gz", "cannot be unpacked")):
        assert main(["reconcile", str(graph), str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err


def test_a_run_with_too_many_pairs(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    many = [dataset(f"d.s.t{number}") for number in range(1100)]
    file = said(event(many, many), tmp_path / "wide.json")
    assert main(["reconcile", str(graph), str(file)]) == 2
    assert "more than 1,000,000 pairs" in capsys.readouterr().err


def test_names_with_line_breaks_cannot_write_lines(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    name = 'd.s."x\nphantom  D.S.T\x1b[31m"'
    file = said(event([dataset(name)], [dataset("d.s.t")], day=2), tmp_path / "e.json")
    assert main(["reconcile", str(graph), str(file), "--out", str(tmp_path / "d.ttl")]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert not [line for line in shown.out.splitlines() if line.startswith("phantom  D.S.T")]
    assert main(["validate", str(tmp_path / "d.ttl")]) == 0


def test_the_same_declaration_in_every_form(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    events = [event([dataset("d.s.a")], [dataset("d.s.t")], day=2, run=run) for run in ("r1", "r2")]
    lines = "\n".join(map(json.dumps, events))
    (tmp_path / "lines.ndjson").write_text(f"\n{lines}\r\n\n", encoding="utf-8")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(events, indent=2).encode())
    for name in ("lines.ndjson", "packed.gz", "marked.json"):
        assert classes(compared(graph, capsys, tmp_path / name)) == {("A", "T"): "verified"}


def test_cycles_of_ephemeral_models_end(tmp_path: Path) -> None:
    """dbt refuses them; a file of somebody else can have them."""
    nodes = {
        "t": model("t", "model.p.a", "model.p.nowhere"),
        "a": model("a", "model.p.b", materialized="ephemeral"),
        "b": model("b", "model.p.a", "model.p.s", materialized="ephemeral"),
        "s": model("s"),
    }
    items = list(read([str(said(manifest(nodes), tmp_path / "m.json"))])[0].items)
    found = [(one.source.name, one.target.name, one.via) for one in items if isinstance(one, DeclaredEdge)]
    assert found == [("D.S.S", "D.S.T", ("model.p.a", "model.p.b"))]


def test_parent_map_and_parts_of_names_stand_in_for_what_a_node_lacks(tmp_path: Path) -> None:
    whole = manifest(
        {"t": {**model("t"), "depends_on": None, "relation_name": None, "database": "d", "schema": "s"}}, ("a",)
    )
    whole["parent_map"] = {"model.p.t": ["source.p.s.a"]}
    items = list(read([str(said(whole, tmp_path / "m.json"))])[0].items)
    assert [(one.source.name, one.target.name) for one in items if isinstance(one, DeclaredEdge)] == [
        ("D.S.A", "D.S.T")
    ]


def test_a_manifest_of_another_database_is_of_another_platform(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    whole = manifest({"t": model("t", "source.p.s.a")}, ("a",), adapter_type="duckdb")
    found = compared(graph, capsys, said(whole, tmp_path / "m.json"))
    assert [one["reason"] for one in found["edges"]] == ["other-platform"]


def test_a_large_manifest(graph: Path, tmp_path: Path, capsys: Capsys) -> None:
    """50 MB; most of a manifest is SQL."""
    sql = {"raw_code": "select 1 " * 500, "compiled_code": "select 1 " * 500}
    nodes = {f"m{n}": model(f"m{n}", f"model.p.m{n - 1}", f"model.p.m{n // 2}", **sql) for n in range(5_500)}
    file = said(manifest(nodes), tmp_path / "m.json")
    assert file.stat().st_size > 50_000_000
    begin = time.monotonic()
    found = compared(graph, capsys, file)
    assert time.monotonic() - begin < 20
    assert found["counts"]["unknown"] > 10_000


# --- Marquez ----------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Any = self.server
        server.asked.append(self.path)
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        begin, most = int(asked.get("offset", 0)), int(asked.get("limit", 100))
        body = server.body or json.dumps({"events": server.events[begin : begin + most], "totalCount": 0}).encode()
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def marquez(events: list[Any], status: int = 200, body: bytes = b"") -> AbstractContextManager[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.events, server.status, server.body, server.asked = events, status, body, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    return running(server)


def test_all_pages_of_a_marquez_are_read(graph: Path, capsys: Capsys) -> None:
    others = [event([dataset("d.s.b")], [dataset("d.s.u")], run=f"x{number}") for number in range(1_200)]
    last = event([dataset("d.s.a")], [dataset("d.s.t")], day=2, run="last")
    with marquez([*others, last]) as server:
        address = server.url.replace("http://", "HTTP://someone:s3cret@")
        found = compared(graph, capsys, address)
    assert classes(found)["A", "T"] == "verified"
    assert [one["name"] for one in found["declarations"]] == [server.url]
    assert len(server.asked) == 3
    assert all(path.startswith("/api/v1/events/lineage?") for path in server.asked)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"{}", "answers 404"),
        (302, b"{}", "Marquez"),
        (200, b"<html>", "is not a list of events"),
        (200, b'{"events": [{"eventTime": 5}]}', "event 1: is no OpenLineage event"),
    ],
)
def test_what_is_no_marquez(status: int, body: bytes, words: str, graph: Path, capsys: Capsys) -> None:
    with marquez([], status, body) as server:
        assert main(["reconcile", str(graph), server.url.replace("//", "//user:s3cret@")]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize("address", ["http://ana:zq/wx@127.0.0.1:9", "http://ana:zq#wx@h", "http://ana:zq?wx@[::1"])
def test_a_password_in_an_address_that_is_none_is_not_repeated(address: str, graph: Path, capsys: Capsys) -> None:
    assert main(["reconcile", str(graph), address]) == 2
    said = capsys.readouterr().err
    assert "the address of Marquez" in said
    assert not [part for part in ("ana", "zq", "wx") if part in said]


def test_a_marquez_that_does_not_answer(graph: Path, capsys: Capsys) -> None:
    for address, words in (
        ("http://127.0.0.1:1", "does not answer"),
        ("http://[x", "is not a valid URL"),
        ("http://", "HOST"),
    ):
        assert main(["reconcile", str(graph), address]) == 2
        assert words in capsys.readouterr().err
