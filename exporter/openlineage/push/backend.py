"""The backends that the OpenLineage client is configured for, each with a suitable sender.

The settings are the client's own: ``openlineage.yml``, ``OPENLINEAGE_URL``, ``OPENLINEAGE__TRANSPORT__…`` and so on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent
from openlineage.client.serde import Serde
from openlineage.client.transport.async_http import AsyncHttpTransport
from openlineage.client.transport.composite import CompositeTransport
from openlineage.client.transport.http import HttpConfig, HttpTransport
from openlineage.client.transport.kafka import KafkaTransport
from openlineage.client.transport.noop import NoopTransport
from openlineage.client.transport.transport import Transport, TransportFactory

from exporter.errors import UsageError
from exporter.openlineage.push.http import HttpSender, Secrets, without_secrets
from exporter.openlineage.push.profiles import profile_of
from exporter.openlineage.push.transports import KafkaSender, Sender, TransportSender, as_event
from exporter.openlineage.settings import PRODUCER
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_NOT_CONFIGURED: Final = (
    "no backend is set up. Set OPENLINEAGE_URL (and OPENLINEAGE_API_KEY where it asks for one), or write an "
    "openlineage.yml with a transport: see https://openlineage.io/docs/client/python/configuration"
)
_DISABLED: Final = "OPENLINEAGE_DISABLED is true, or the transport is noop: nothing would be sent. Unset it to push"
_SCHEMES: Final = "It has to begin with http:// or https:// (OPENLINEAGE_URL, or url of the transport)"


@dataclass(frozen=True)
class Backend:
    """``name``: for people. ``folder``: of its ledger. ``profile``: what its address or kind shows, None where
    unknown.
    """

    name: str
    folder: str
    sender: Sender
    secrets: Secrets
    profile: str | None


@dataclass(frozen=True)
class Target:
    """A backend as the settings name it, without a connection: ``name``, ``folder`` and ``profile`` as in
    :class:`Backend`. ``may_be_marquez``: whether a push asks it that.
    """

    name: str
    folder: str
    profile: str | None
    may_be_marquez: bool


@dataclass(frozen=True)
class PlannedClient:
    """The client's settings. ``targets``: none if the client is connected."""

    settings: OpenLineageClient
    targets: tuple[Target, ...] = ()

    def is_filtered(self, job: str) -> bool:
        """Whether the client's filters exclude the runs of a job with this name."""
        return bool(self.settings.config.filters) and self.settings.filter_event(_run_of(job)) is None


@dataclass(frozen=True)
class Client(PlannedClient):
    """The same with the backends."""

    backends: tuple[Backend, ...] = ()

    @property
    def adds_facets(self) -> bool:
        """Whether the settings add tags or environment variables to each event."""
        config = self.settings.config
        return bool(config.tags.job or config.tags.run or config.facets.environment_variables)

    def with_facets(self, event: Json) -> Json:
        """The event with the tags and environment variables that the settings add."""
        extended = self.settings.update_event_tags_facets(self.settings.add_environment_facets(as_event(event)))
        return dict(json.loads(Serde.to_json(extended)))


def _run_of(job: str) -> RunEvent:
    """Any run of the job: the client's filters only use the job's name."""
    run = Run("00000000-0000-0000-0000-000000000000")
    return RunEvent(eventTime="2024-01-01T00:00:00Z", producer=PRODUCER, run=run, job=Job("any", job))


def client(connections: int, patience: float) -> Client:
    """Reads the client's settings; ``patience``: of the user, in seconds. Raises UsageError where no backend is
    configured or the settings are invalid.
    """
    openlineage_client, raw = _configured(None)
    leaves = list(_leaves(openlineage_client.transport, raw))
    if any(isinstance(transport, NoopTransport) for transport, _ in leaves):
        raise UsageError(_DISABLED)
    backends = tuple(_backend(transport, settings, connections, patience) for transport, settings in leaves)
    return Client(openlineage_client, backends=backends)


def planned_client() -> PlannedClient:
    """The client's settings without a transport: some connect, or make a file, when they are made. Raises UsageError
    as :func:`client`.
    """
    factory = _NoTransports()
    openlineage_client, _ = _configured(factory)
    leaves = list(_planned_leaves(factory.config or _of_environment()))
    if any(leaf.get("type") == "noop" for leaf in leaves):
        raise UsageError(_DISABLED)
    return PlannedClient(openlineage_client, tuple(map(_target, leaves)))


class _NoTransports(TransportFactory):
    """Keeps the settings of the transport, and makes one that does nothing."""

    def __init__(self) -> None:
        self.config: Json = {}

    def create(self, config: Json | None = None) -> Transport:
        self.config = dict(config or {})
        return Transport()


def _configured(factory: TransportFactory | None) -> tuple[OpenLineageClient, Json]:
    """The client, and the settings of its transport."""
    secrets = Secrets.of({}, os.environ)
    with _quiet_client() as texts:
        try:
            openlineage_client = OpenLineageClient(factory=factory)
        except Exception as error:  # noqa: BLE001 - the client raises what its transports raise, even bare KeyErrors
            raise UsageError(f"the OpenLineage client's settings cannot be used: {_reason(error, secrets)}") from None
    raw = openlineage_client.config.transport or {}
    if isinstance(openlineage_client.transport, NoopTransport):
        raise UsageError(_DISABLED)
    if not raw.get("type") and not os.environ.get("OPENLINEAGE_URL"):
        file = os.environ.get("OPENLINEAGE_CONFIG")
        if file and not Path(file).is_file():
            texts.append(f"OPENLINEAGE_CONFIG names {file}, which is no file")
        raise UsageError(_NOT_CONFIGURED + "".join(f". {secrets.hide(line)}" for line in texts))
    return openlineage_client, raw


def _of_environment() -> Json:
    """The transport of OPENLINEAGE_URL alone."""
    endpoint = os.environ.get("OPENLINEAGE_ENDPOINT")
    return {"type": "http", "url": os.environ["OPENLINEAGE_URL"], **({"endpoint": endpoint} if endpoint else {})}


def _planned_leaves(raw: Json) -> Iterator[Json]:
    """The settings of each transport that :func:`_leaves` would give."""
    if raw.get("type") != "composite" or raw.get("continue_on_success") is False:
        yield raw
        return
    transports = raw.get("transports") or {}
    for part in transports.values() if isinstance(transports, dict) else transports:
        yield from _planned_leaves(part)


def _target(raw: Json) -> Target:
    secrets, kind, is_http = Secrets.of(raw, os.environ), str(raw.get("type")), raw.get("type") in _HTTP
    if is_http:
        _check_http(raw)
        url = str(raw.get("url", "")).strip()
        _check_scheme(url)
        address = urljoin(url, raw.get("endpoint") or HttpConfig(url).endpoint)
        secrets, where = Secrets.of({**raw, "address": address}, os.environ), without_secrets(address)
    elif kind == "kafka":
        where = f"{(raw.get('config') or {}).get('bootstrap.servers', '')}/{raw.get('topic', '')}"
    else:
        where = _description(None, raw)
    name = secrets.hide(f"{kind} {where}".strip())
    return Target(name, _folder(name), profile_of(where, kind), may_be_marquez=is_http)


_HTTP: Final = ("http", "async_http")


def _reason(error: Exception, secrets: Secrets) -> str:
    if "valid url" in str(error):  # the words of the client. It shows the address, whose password nothing can find
        return f"the address is no valid URL. {_SCHEMES}. In a user and a password, /, #, ? and @ are percent-encoded"
    return secrets.hide(f"{type(error).__name__}: {error}") + _hint(error)


def _hint(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return ". Install it beside the exporter (for Kafka: pip install 'openlineage-python[kafka]')"
    if isinstance(error, ImportError):
        return ". It is the type of the transport: http, kafka, file, console, composite, or the class of your own"
    return ". A transport needs its type" if isinstance(error, KeyError) else ""


def _leaves(transport: Transport, raw: Json) -> Iterator[tuple[Transport, Json]]:
    """The transports that each event is sent to. The client's composite reports success where only one part succeeded,
    so the push sends to each part separately; a part that is only a fallback for another stays with the client.
    """
    if not isinstance(transport, CompositeTransport) or not transport.config.continue_on_success:
        yield transport, raw
        return
    transports = transport.config.transports
    all_settings = list(transports.values()) if isinstance(transports, dict) else transports
    by_address = {
        (settings_of_part.get("url"), settings_of_part.get("endpoint")): settings_of_part
        for settings_of_part in all_settings
        if settings_of_part
    }
    for part in transport.transports:
        address = (getattr(part, "url", None), getattr(part, "endpoint", None))
        settings = by_address.get(address) or by_address.get((address[0], None)) or {}
        yield from _leaves(part, settings)


def _backend(transport: Transport, raw: Json, connections: int, patience: float) -> Backend:
    secrets = Secrets.of(raw, os.environ)
    sender: Sender
    if isinstance(transport, HttpTransport | AsyncHttpTransport):
        _check_http(raw)
        _check_scheme(transport.url)
        address = urljoin(transport.url, transport.endpoint)
        secrets = Secrets.of({**raw, "address": address}, os.environ)
        timeout = None if raw.get("timeout") is None else float(transport.config.timeout)
        sender = HttpSender(address, transport.config, timeout, connections, secrets, patience)
        where = without_secrets(address)
        transport.close(0)
    elif isinstance(transport, KafkaTransport) and transport.producer is not None:
        sender = KafkaSender(transport, secrets)
        where = f"{transport.kafka_config.config.get('bootstrap.servers', '')}/{transport.topic}"
    else:
        sender, where = TransportSender(transport, secrets), _description(transport, raw)
    name = secrets.hide(f"{transport.kind or type(transport).__name__} {where}".strip())
    return Backend(name, _folder(name), sender, secrets, profile_of(where, str(transport.kind)))


def _check_http(raw: Json) -> None:
    """Raises UsageError for settings of HTTP that have no sense, which the client takes. No value is shown."""
    for key, kind, expected in (
        ("url", str, "a text"),
        ("endpoint", str, "a text"),
        ("custom_headers", dict, "a table of names and values"),
        ("timeout", object, "a number of seconds above 0"),
    ):
        value = raw.get(key)
        if value is not None and not (isinstance(value, kind) and (key != "timeout" or _is_positive(value))):
            raise UsageError(f"the OpenLineage client's settings cannot be used: {key} of the transport is {expected}")


def _is_positive(value: Any) -> bool:
    try:
        return 0 < float(value) < float("inf")
    except (TypeError, ValueError):
        return False


def _check_scheme(address: str) -> None:
    scheme, text, _ = address.partition("://")
    if not text or scheme.lower() not in {"http", "https"}:
        problem = f"begins with {visible(scheme)}://" if text else "has no scheme"  # more can be a user and a password
        raise UsageError(f"the OpenLineage client's settings cannot be used: the address {problem}. {_SCHEMES}")


def _description(transport: Transport | None, raw: Json) -> str:
    """A text that distinguishes two transports of one kind, without secrets. No transport: only its settings."""
    path = getattr(getattr(transport, "config", None), "log_file_path", None if transport else raw.get("log_file_path"))
    if path:
        return str(path)
    return json.dumps(
        {key: value for key, value in raw.items() if key not in ("type", "name", "priority")}, default=str
    )


def _folder(name: str) -> str:
    """A readable name for a folder, different for each backend."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@contextmanager
def _quiet_client() -> Iterator[list[str]]:
    """Keeps the client's log, and its changes to the environment, from being shown: both can hold secrets. Yields the
    errors in the settings, which the client only writes to its log.
    """
    texts: list[str] = []

    class _Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                texts.append(record.getMessage())

    log, listener, environment = logging.getLogger("openlineage"), _Listener(), dict(os.environ)
    propagated, log.propagate = log.propagate, False
    log.addHandler(listener)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield texts
    finally:
        log.removeHandler(listener)
        log.propagate = propagated
        for name in set(os.environ) - set(environment):
            del os.environ[name]
