"""A real Kafka broker on this machine's loopback, from the jars of Maven Central: one node, without ZooKeeper."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from tests import jars

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER: Final = "access-history-tests1A"
"""The id of a cluster: 16 bytes in base64, any will do."""
_SECONDS: Final = 60
_SETTINGS: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{control}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
num.partitions=3
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
"""


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """The address of a running broker, which is gone at the end. Its log is in the folder."""
    class_path = jars.class_path("kafka")
    port, control = _free_ports()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, control=control, folder=folder), encoding="ascii")
    java = [
        jars.java(),
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-cp",
        class_path,
    ]
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER, "--config", str(settings)],
        check=True,
        capture_output=True,
        timeout=_SECONDS,
    )
    with (folder / "broker.log").open("wb") as log:
        broker = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(port, broker, folder / "broker.log")
            yield f"127.0.0.1:{port}"
        finally:
            broker.kill()
            broker.wait()


def _free_ports() -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait(port: int, broker: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and broker.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"the broker did not start:\n{log.read_text(errors='replace')[-3000:]}")
