"""Stores on this machine's loopback, empty and in memory, which end with the block or with this process.

Apache Jena Fuseki from the jars of ``tests/jars/fuseki.lock``, and the server of Oxigraph from its package.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import urllib3

from tests import jars
from tests.stores.endpoint import Endpoint, wait

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDS_CURL: Final = pytest.mark.skipif(  # a newcomer's machine may have none, and the program itself needs none
    shutil.which("curl") is None and not os.environ.get("CI"),
    reason="there is no curl: bin/setup --browser installs it",
)
"""The mark of tests of ``deploy/follow`` and of the commands of the pages; CI has it."""
_UNTIL_ASKED: Final = ("sh", "-c", '"$@" & read -r _; kill -9 $!', "sh")
"""Starts a command, and ends it when its own standard input does: also when the process before it is killed."""
_JAVA: Final = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8")


@contextmanager
def fuseki(folder: Path) -> Iterator[Endpoint]:
    """Fuseki with one dataset; its log and its settings are in the folder. Skips the test without its jars."""
    port, class_path = free_port(), jars.class_path("fuseki")
    server = ("org.apache.jena.fuseki.main.cmds.FusekiServerCmd", "--localhost", "--ping", "--mem")
    command = [jars.java(), *_JAVA, "-cp", class_path, *server, f"--port={port}", "/lineage"]
    url = f"http://127.0.0.1:{port}"
    with _running(command, folder / "fuseki.log", f"{url}/$/ping"):
        yield Endpoint("Fuseki", f"{url}/lineage/query", f"{url}/lineage/update", f"{url}/lineage/data")


@contextmanager
def oxigraph(folder: Path) -> Iterator[Endpoint]:
    """Oxigraph's server; its log is in the folder."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "oxigraph"), "serve", "--bind", f"127.0.0.1:{port}"]
    url = f"http://127.0.0.1:{port}"
    with _running(command, folder / "oxigraph.log", url):
        yield Endpoint("Oxigraph", f"{url}/query", f"{url}/update", f"{url}/store")


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _running(command: list[str], log: Path, url: str) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*_UNTIL_ASKED, *command], cwd=log.parent, stdin=subprocess.PIPE, stdout=out, stderr=out
        )
        try:
            wait(lambda: _answers(url), f"{command[0]} did not start; its log is {log}")
            yield
        finally:
            process.communicate()


def _answers(url: str) -> bool:
    try:
        return urllib3.request("GET", url, retries=False, timeout=1).status == 200
    except urllib3.exceptions.HTTPError:
        return False
