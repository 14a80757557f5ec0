"""Apache Jena, called from Python: a separate JVM with the jars of a lock file of ``tests/jars``."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Any, Final

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway

from tests import jars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PY4J: Final = next(Path(pyspark.__file__).parent.glob("jars/py4j-*.jar"))
_OPTIONS: Final = (
    "-Xmx1g",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Duser.timezone=UTC",
    "-Dfile.encoding=UTF-8",
)
Row = tuple[str | None, ...]


class Jena:
    """Loads files and answers queries; every call goes to the one JVM."""

    def __init__(self, jvm: Any) -> None:
        self._arq = jvm.org.apache.jena.query
        self._riot = jvm.org.apache.jena.riot
        self._jvm = jvm
        jvm.org.apache.jena.sys.JenaSystem.init()

    def load(self, files: Iterable[Path]) -> Any:
        """A dataset of files, each in the language that its name says."""
        dataset = self._arq.DatasetFactory.create()
        for file in files:
            self._riot.RDFDataMgr.read(dataset, file.as_uri())
        return dataset

    def size(self, dataset: Any) -> int:
        """How many triples the default graph has."""
        return int(dataset.getDefaultModel().size())

    def select(self, dataset: Any, query: str) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and rows; literals by their text, things by their IRI, None where nothing is bound.

        The query is parsed as SPARQL 1.1, which leaves out what Jena has beyond it.
        """
        parsed = self._arq.QueryFactory.create(query, self._arq.Syntax.syntaxSPARQL_11)
        execution = self._arq.QueryExecutionFactory.create(parsed, dataset)
        try:
            written = self._jvm.java.io.ByteArrayOutputStream()
            self._arq.ResultSetFormatter.outputAsJSON(written, execution.execSelect())
        finally:
            execution.close()
        result = json.loads(bytes(written.toByteArray()))
        names = tuple(result["head"]["vars"])
        return names, [_row(one, names) for one in result["results"]["bindings"]]


def _row(solution: dict[str, dict[str, str]], names: tuple[str, ...]) -> Row:
    return tuple(solution[name]["value"] if name in solution else None for name in names)


@contextmanager
def jena() -> Iterator[Jena]:
    """Jena in a JVM that ends with the block; skips the test where its jars cannot be had."""
    with java("jena") as jvm:
        yield Jena(jvm)


@contextmanager
def java(lock: str) -> Iterator[Any]:
    """The packages of a JVM with the jars of ``tests/jars/LOCK.lock``; it ends with the block."""
    class_path = os.pathsep.join([jars.class_path(lock), str(_PY4J)])
    server = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")
    command = [jars.java(), *_OPTIONS, "-cp", class_path, *server]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as process:
        assert process.stdout
        port, secret = int(process.stdout.readline()), process.stdout.readline().strip()
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret))
        try:
            yield gateway.jvm
        finally:
            gateway.shutdown()
            process.kill()
