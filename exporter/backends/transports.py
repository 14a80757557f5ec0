"""The client's other transports: Kafka with an answer for each message, the console made visible, and any others."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from openlineage.client import event_v2
from openlineage.client.facet_v2 import parent_run
from openlineage.client.serde import Serde
from openlineage.client.transport.async_http import AsyncHttpTransport
from openlineage.client.transport.http import HttpTransport
from openlineage.client.transport.transport import Transport
from requests import Session
from requests.exceptions import ConnectionError as NoConnection
from requests.exceptions import HTTPError, Timeout, TooManyRedirects

from exporter.backends.event import Json
from exporter.backends.secrecy import TAKEN, AnswerKind, BackendAnswer, Secrets, of_status
from exporter.backends.tokens import NoToken, bounded
from exporter.system.faults import OF_FULL_DISK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage.client.transport.kafka import KafkaTransport

Event = event_v2.RunEvent | event_v2.JobEvent | event_v2.DatasetEvent
_TAKE_DICTS: Final = ("file", "console")
"""Transports that write what they get as it is; given an object, they would add empty facets."""
KAFKA_WAIT: Final = 20.0
"""The most seconds in which a broker confirms an event, where the user's patience is not less."""
_REPORT: Final = 1.0
"""Seconds after which Kafka's client has reported at the latest that it gave a message up."""
_BLOCK: Final = 1 << 16
_NO_BROKER: Final = {
    *("_MSG_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE"),
    *("_PURGE_QUEUE", "_PURGE_INFLIGHT"),
}
"""Errors of Kafka's client that say that no broker was reached."""


class Sender(Protocol):
    """Sends events to a backend. ``parallel``: whether several threads may use it at once."""

    parallel: bool

    def send(self, body: bytes) -> BackendAnswer:
        """One request with one event; does not raise for errors of the backend."""
        ...

    def close(self) -> str | None:
        """Closes the sender; returns why some events may not have arrived, None if all did."""
        ...


class TransportSender:
    """Any transport of the client; what it raises counts as the backend's answer. One event at a time."""

    parallel = False

    def __init__(self, transport: Transport, secrets: Secrets) -> None:
        self._transport, self._secrets = transport, secrets
        if transport.kind == "console":
            _show_console()

    def send(self, body: bytes) -> BackendAnswer:
        try:
            event = json.loads(body)
            self._transport.emit(event if self._transport.kind in _TAKE_DICTS else as_event(event))
        except Exception as error:  # noqa: BLE001 - transports may be anybody's and raise anything
            return self._answer_of(error)
        return TAKEN

    def _answer_of(self, error: Exception) -> BackendAnswer:
        if isinstance(error, NoToken):
            return error.answer
        if isinstance(error, HTTPError | TooManyRedirects) and error.response is not None:
            status, text, headers = error.response.status_code, error.response.text, error.response.headers
            return of_status(status, text, headers.get("Retry-After"), self._secrets, headers.get("Location"))
        if isinstance(error, ImportError):  # some load their library with the first event; no event will go
            return BackendAnswer(AnswerKind.DENIED, f"{self._shown(error)}: install it beside the exporter")
        is_silent = isinstance(error, HTTPError | NoConnection | Timeout | ConnectionError | TimeoutError)
        return BackendAnswer(AnswerKind.SILENT if is_silent else AnswerKind.ERROR, self._shown(error))

    def _shown(self, error: Exception) -> str:
        return f"{type(error).__name__}: {self._secrets.shown(str(error))}"

    def close(self) -> str | None:
        try:
            return None if self._transport.close() else "the transport closed before all events were sent"
        except Exception as error:  # noqa: BLE001 - anybody's transport
            return self._shown(error)


class FileSender(TransportSender):
    """A local file to which each event is appended as a line. A line that was not written in full is taken away, and
    what the system says of the disk is raised. (The client says it in words alone.)
    """

    def __init__(self, transport: Transport, secrets: Secrets, path: Path) -> None:
        super().__init__(transport, secrets)
        self._path, self._is_begun = path, False

    def send(self, body: bytes) -> BackendAnswer:
        if not self._is_begun:  # not before: the file is that of the push that holds the ledger
            end_at_a_line(self._path, Serde.to_json(json.loads(body)).encode())
            self._is_begun = True
        is_device = self._path.exists() and not self._path.is_file()
        former = None if is_device else self._path.stat().st_size if self._path.is_file() else 0
        answer = None
        try:
            answer = super().send(body)
        finally:
            if former is not None and (answer is None or answer.kind is not AnswerKind.TAKEN):
                with suppress(OSError):  # it could not be opened, so there is nothing of the event in it
                    os.truncate(self._path, former)
        return answer

    def _answer_of(self, error: Exception) -> BackendAnswer:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in OF_FULL_DISK:
            raise OSError(error.__cause__.errno, error.__cause__.strerror, str(self._path)) from None
        return super()._answer_of(error)


def end_at_a_line(path: Path, following: bytes) -> None:
    """Makes the end of a file the end of a line, to which another one is appended. What is after the last one goes only
    if it is the beginning of this line, which a push left that was killed. Anything else is somebody's, and is ended.
    """
    if not path.is_file():  # not there yet, or a device or a pipe
        return
    with suppress(PermissionError), path.open("rb+") as file:
        size = start = file.seek(0, os.SEEK_END)
        tail = b""
        while start and b"\n" not in tail:
            start = max(start - _BLOCK, 0)
            file.seek(start)
            tail = file.read(min(_BLOCK, size - start)) + tail
        rest = tail.rpartition(b"\n")[2]
        if rest and following.startswith(rest):
            file.truncate(size - len(rest))
        elif rest:
            file.seek(size)
            file.write(b"\n")


def parts_of(transport: Transport) -> Iterator[Transport]:
    """The transport, and those of the client's that it sends with: a composite has several, others one."""
    yield transport
    inner = [getattr(transport, name, None) for name in ("transport", "http")]
    for part in (*(getattr(transport, "transports", None) or ()), *inner):
        if isinstance(part, Transport):
            yield from parts_of(part)


def follow_no_redirect(transport: Transport, secrets: Secrets, patience: float) -> None:
    """For the client's transports by HTTP: tokens are asked for as in :mod:`exporter.backends.tokens`, and what asks
    for another address is an error. With an event, the client would send the headers of the settings there, too.
    """
    for part in parts_of(transport):
        if isinstance(part, HttpTransport | AsyncHttpTransport):
            part.config.auth = bounded(part.config.auth, secrets, patience)
        if isinstance(part, HttpTransport):
            session = Session()
            session.max_redirects = 0
            part.session = session


class BrokerErrors:
    """When Kafka's client last said that it reaches no broker; it tries again all the time, and says so each time."""

    last: float = 0.0

    def note(self, error: Any) -> None:
        """Called by Kafka's client with errors that are not those of one message."""
        if _name_of(error) in _NO_BROKER:
            self.last = time.monotonic()


class KafkaSender:
    """Kafka, with the broker's answer for each message, which the client's own transport only writes to its log.
    ``wait``: the seconds in which it has to come; ``errors``: ends the wait if no broker is reached, None to wait.
    """

    parallel = True

    def __init__(
        self,
        transport: KafkaTransport,
        secrets: Secrets,
        wait: float = KAFKA_WAIT,
        errors: BrokerErrors | None = None,
    ) -> None:
        self._transport, self._secrets, self._wait = transport, secrets, wait + _REPORT
        self._producer: Any = transport.producer
        self._errors = errors

    def send(self, body: bytes) -> BackendAnswer:
        errors: list[Any] = []
        key = self._transport.message_key
        if not key:  # the client's own, which keeps events of related runs in order; no public call only asks for it
            key = self._transport._get_message_key(as_event(json.loads(body)))  # noqa: SLF001 - the client has no public way
        try:
            self._producer.produce(
                topic=self._transport.topic, key=key, value=body, on_delivery=lambda error, _: errors.append(error)
            )
            begun = time.monotonic()
            while not errors and time.monotonic() < begun + self._wait:
                self._producer.poll(0.05)
                if not errors and self._errors and begun <= self._errors.last and time.monotonic() > begun + _REPORT:
                    self._producer.purge()  # or it would be on its way when it is sent again
                    return BackendAnswer(AnswerKind.SILENT, "no broker can be reached")
        except Exception as error:  # noqa: BLE001 - BufferError, KafkaException, and what its C library raises
            return BackendAnswer(AnswerKind.ERROR, self._shown(error))
        if not errors:
            return BackendAnswer(AnswerKind.SILENT, "the broker does not answer")
        if errors[0] is None:
            return TAKEN
        is_passing = getattr(errors[0], "retriable", lambda: False)() or _name_of(errors[0]) in _NO_BROKER
        return BackendAnswer(AnswerKind.SILENT if is_passing else AnswerKind.ERROR, self._shown(errors[0]))

    def _shown(self, error: object) -> str:
        return self._secrets.shown(str(error))

    def close(self) -> str | None:
        unsent = self._producer.flush(self._wait)
        return f"{unsent} messages were not sent before the producer closed" if unsent else None


def _name_of(error: Any) -> str:
    """The name of an error of Kafka's client."""
    return str(getattr(error, "name", str)())


def as_event(event: Json) -> Event:
    """The client's own object for an event: some transports ignore dicts without an error, and Kafka's keys need it."""
    common = {"eventTime": event["eventTime"], "producer": event["producer"]}
    if "dataset" in event:
        return event_v2.DatasetEvent(**common, dataset=event_v2.StaticDataset(**event["dataset"]))
    job = event_v2.Job(**event["job"])
    inputs = [event_v2.InputDataset(**document) for document in event.get("inputs", [])]
    outputs = [event_v2.OutputDataset(**document) for document in event.get("outputs", [])]
    if "run" not in event:
        return event_v2.JobEvent(**common, job=job, inputs=inputs, outputs=outputs)
    kind = event_v2.RunState(event["eventType"]) if event.get("eventType") else None
    run = event_v2.Run(runId=event["run"]["runId"], facets=_with_parent(event["run"].get("facets") or {}))
    return event_v2.RunEvent(**common, eventType=kind, run=run, job=job, inputs=inputs, outputs=outputs)


def _with_parent(facets: Json) -> Json:
    """The facets with the parent as an object: Kafka's key is the parent's or root's job, read from that object."""
    if "parent" not in facets:
        return facets
    parent, root = facets["parent"], facets["parent"].get("root")
    parent_facet = parent_run.ParentRunFacet(
        run=parent_run.Run(**parent["run"]), job=parent_run.Job(**parent["job"]), producer=parent["_producer"]
    )
    if root:
        parent_facet.root = parent_run.Root(
            run=parent_run.RootRun(**root["run"]), job=parent_run.RootJob(**root["job"])
        )
    return {**facets, "parent": parent_facet}


_OURS: Final = "exporter"


def _show_console() -> None:
    """Makes the console transport's log visible: without a handler, its output is not shown."""
    log = logging.getLogger("openlineage.client.transport.console")
    is_ours = any(handler.name == _OURS for handler in log.handlers)
    if is_ours or not log.isEnabledFor(logging.INFO) or not log.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)  # a program may have replaced it since the last push
        handler.setFormatter(logging.Formatter("%(message)s"))
        handler.set_name(_OURS)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.INFO)
