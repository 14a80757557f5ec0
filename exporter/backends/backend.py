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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urljoin, urlsplit
from urllib.request import url2pathname

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent
from openlineage.client.facet_v2 import tags_job, tags_run
from openlineage.client.serde import Serde
from openlineage.client.transport import get_default_factory
from openlineage.client.transport.async_http import AsyncHttpTransport
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.transport.http import HttpConfig, HttpTransport
from openlineage.client.transport.kafka import KafkaTransport
from openlineage.client.transport.noop import NoopTransport
from openlineage.client.transport.transport import Transport, TransportFactory
from openlineage.client.utils import import_from_string

from exporter.backends.event import Json
from exporter.backends.http import HttpSender
from exporter.backends.profiles import profile_of
from exporter.backends.secrecy import Secrets, may_be_secret, without_secrets
from exporter.backends.transports import (
    KAFKA_WAIT,
    BrokerErrors,
    FileSender,
    KafkaSender,
    Sender,
    TransportSender,
    as_event,
    follow_no_redirect,
)
from exporter.errors import UsageError
from exporter.openlineage.settings import PRODUCER
from exporter.publish.manifest import refuse_in_export
from exporter.system import faults
from exporter.system.terminal import visible

_NOT_CONFIGURED: Final = (
    "no backend is set up. Set OPENLINEAGE_URL (and OPENLINEAGE_API_KEY where it asks for one), or write an "
    "openlineage.yml with a transport: see https://openlineage.io/docs/client/python/configuration"
)
_DISABLED: Final = "OPENLINEAGE_DISABLED is true, or the transport is noop: nothing would be sent. Unset it to push"
_OWN_PATHS: Final = ("/api/v1", "/api/v1/lineage")
"""What the client's own endpoint begins with, and what it is: it is added to the address."""
_SCHEMES: Final = "It has to begin with http:// or https:// (OPENLINEAGE_URL, or url of the transport)"


def _recipient(settings: Json, address: str | None) -> str:
    """What tells tenants behind one address apart: the parameters of the address, and the custom headers. Empty if
    there are none. What may be a secret is left out: a new key does not make another backend.
    """
    if address is None:
        return ""
    headers = settings.get("custom_headers")
    named = [*parse_qsl(urlsplit(address).query), *(headers.items() if isinstance(headers, dict) else ())]
    told = sorted([str(name), str(value)] for name, value in named if not may_be_secret(str(name)))
    return json.dumps(told) if told else ""


@dataclass(frozen=True)
class Backend:
    """A backend as the settings name it, without a connection. ``name``: for people. ``folder``: of its ledger.
    ``profile``: what its address or kind shows, None where unknown. ``address``: for events, where it is sent to by
    HTTP, else None; only an answer can show that it is a Marquez. ``secrets``: of all backends, since an answer of one
    can repeat what another one got. ``settings``: of its transport.
    """

    name: str
    folder: str
    profile: str | None
    address: str | None
    secrets: Secrets
    settings: Json

    @classmethod
    def of(cls, settings: Json, address: str | None, secrets: Secrets) -> Backend:
        """Raises UsageError for settings that have no sense."""
        with _faults_of_settings(secrets):
            kind = _kind(settings)
            if address is not None:
                where = without_secrets(address)
            elif kind in _KAFKA:
                where = f"{(settings.get('config') or {}).get('bootstrap.servers', '')}/{settings.get('topic', '')}"
            else:
                own = {key: value for key, value in settings.items() if key not in ("type", "name", "priority")}
                where = str(settings.get("log_file_path") or json.dumps(own, default=str))
        name = secrets.masked(f"{kind} {where}".strip())
        plain = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:40]
        recipient = f"{name}{_recipient(settings, address)}"
        folder = f"{plain}-{hashlib.sha256(recipient.encode()).hexdigest()[:8]}"
        return cls(name, folder, profile_of(where, kind), address, secrets, settings)

    def check(self) -> None:
        """Raises UsageError where the client cannot use the settings, as far as that shows without a connection."""
        with _quiet_client(), _faults_of_settings(self.secrets):
            known: Any = get_default_factory().transports
            transport = known.get(self.settings["type"]) or import_from_string(str(self.settings["type"]))
            of_settings = transport.config_class
            config = (import_from_string(of_settings) if isinstance(of_settings, str) else of_settings).from_dict(
                {key: value for key, value in self.settings.items() if key not in ("name", "priority")}
            )
        if isinstance(config, FileConfig) and (path := _local(config)):
            _refuse_file(path)

    def sender(self, connections: int, patience: float) -> Sender:
        """Connects, where the transport does so when it is made; ``patience``: of the user, in seconds. Raises
        UsageError where the client cannot use the settings.
        """
        wait, errors = min(KAFKA_WAIT, patience or KAFKA_WAIT), None if patience else BrokerErrors()
        with _quiet_client(), _faults_of_settings(self.secrets):
            settings = dict(self.settings)
            if _kind(settings) in _KAFKA and isinstance(settings.get("config"), dict):
                settings["config"] = {**_settings_of_kafka(settings["config"], wait, errors), **settings["config"]}
            transport = get_default_factory().create(_at_once(settings))
            follow_no_redirect(transport, self.secrets, patience)
        if isinstance(transport, NoopTransport):
            raise UsageError(_DISABLED)
        if self.address and isinstance(transport, HttpTransport | AsyncHttpTransport):
            timeout = None if self.settings.get("timeout") is None else float(transport.config.timeout)
            transport.close(0)
            return HttpSender(self.address, transport.config, timeout, connections, self.secrets, patience)
        if isinstance(transport, KafkaTransport) and transport.producer is not None:
            return KafkaSender(transport, self.secrets, wait, errors)
        if isinstance(transport, FileTransport) and (path := _local(transport.config)):
            _refuse_file(path)
            if transport.config.append:
                return FileSender(transport, self.secrets, path)
        return TransportSender(transport, self.secrets)


@dataclass(frozen=True)
class Client:
    """What the client is configured for: its ``backends``, and what it would do to each event."""

    settings: OpenLineageClient
    backends: tuple[Backend, ...]

    def is_filtered(self, job: str) -> bool:
        """Whether the client's filters exclude the runs of a job with this name; they only use the name."""
        if not self.settings.config.filters:
            return False
        run = Run("00000000-0000-0000-0000-000000000000")
        event = RunEvent(eventTime="2024-01-01T00:00:00Z", producer=PRODUCER, run=run, job=Job("any", job))
        return self.settings.filter_event(event) is None

    @property
    def adds_facets(self) -> bool:
        """Whether the settings add tags or environment variables to each event."""
        config = self.settings.config
        return bool(config.tags.job or config.tags.run or config.facets.environment_variables)

    def with_facets(self, event: Json) -> Json:
        """The event with the tags and environment variables that the settings add."""
        event = {
            **event,
            **{name: _with_tags(event[name], *kinds) for name, kinds in _TAGS.items() if name in event},
        }
        extended = self.settings.update_event_tags_facets(self.settings.add_environment_facets(as_event(event)))
        return dict(json.loads(Serde.to_json(extended)))


_TAGS: Final = {
    "run": (tags_run.TagsRunFacet, tags_run.TagsRunFacetFields),
    "job": (tags_job.TagsJobFacet, tags_job.TagsJobFacetFields),
}


def _with_tags(document: Json, kind: Any, of_tag: Any) -> Json:
    """A run or job of an event with a copy of its facets, to which the client may add, and with its tags as the
    client's objects: it adds to no others.
    """
    facets = dict(document.get("facets") or {})
    if tags := facets.get("tags"):
        of_event = [of_tag(tag["key"], tag["value"], tag.get("source")) for tag in tags.get("tags") or ()]
        facets["tags"] = kind(tags=of_event, producer=tags["_producer"])
    return {**document, "facets": facets}


class _NoTransports(TransportFactory):
    """Makes a transport that does nothing: some connect, or make a file, when they are made."""

    def create(self, config: Json | None = None) -> Transport:  # noqa: ARG002 - the client's own signature
        return Transport()


def client() -> Client:
    """Reads the client's settings; connects to nothing. Raises UsageError where no backend is configured or the
    settings are invalid.
    """
    _refuse_other_bytes()
    secrets = Secrets.of({}, os.environ)
    with _quiet_client() as texts, _faults_of_settings(secrets):
        openlineage_client = OpenLineageClient(factory=_NoTransports())
        settings = openlineage_client.config.transport or {}
        parts = list(_parts(settings if settings.get("type") else _of_environment()))
    if isinstance(openlineage_client.transport, NoopTransport) or any(part.get("type") == "noop" for part in parts):
        raise UsageError(_DISABLED)
    if not parts:
        file = os.environ.get("OPENLINEAGE_CONFIG")
        if file and not Path(file).is_file():
            texts.append(f"OPENLINEAGE_CONFIG names {file}, which is not a file")
        if settings:
            texts.append("The transport of openlineage.yml has no type, such as http, so it is not used")
        raise UsageError(_NOT_CONFIGURED + "".join(f". {secrets.shown(line)}" for line in texts))
    secrets = Secrets.of(parts, os.environ)
    with _quiet_client():
        addresses = [_address_of(part, secrets) for part in parts]  # all before the first name, which shows none
        backends = [Backend.of(part, address, secrets) for part, address in zip(parts, addresses, strict=True)]
    return Client(openlineage_client, tuple(backends))


def _refuse_other_bytes() -> None:
    """Raises UsageError for a variable of the client that is not UTF-8: no address and no header can have it."""
    for name, value in os.environ.items():
        if name.startswith("OPENLINEAGE") and value != value.encode("utf-8", "replace").decode("utf-8"):
            raise UsageError(f"{visible(name)}: has bytes that are not UTF-8; set it without them, or unset it")


def _of_environment() -> Json:
    """The transport of OPENLINEAGE_URL alone, as the client makes it; empty where it is not set."""
    url, key = os.environ.get("OPENLINEAGE_URL"), os.environ.get("OPENLINEAGE_API_KEY")
    if not url:
        return {}
    auth = {"auth": {"type": "api_key", "apiKey": key}} if key else {}
    return {"type": "http", "url": url, "endpoint": os.environ.get("OPENLINEAGE_ENDPOINT", "api/v1/lineage"), **auth}


def _parts(settings: Json) -> Iterator[Json]:
    """The settings of each transport that an event is sent to. The client's composite reports success where only one
    part succeeded, so the push sends to each part separately; a part that is only a fallback for another stays with the
    client.
    """
    transports = settings.get("transports")
    if settings.get("type") != "composite" or not transports or not settings.get("continue_on_success", True):
        if settings:
            yield settings
        return
    parts = [part for part in (transports.values() if isinstance(transports, dict) else transports) if part]
    if settings.get("sort_transports"):
        parts.sort(key=lambda part: int(part.get("priority", 0)), reverse=True)
    for part in parts:
        yield from _parts(part)


def _kind(settings: Json) -> str:
    """The kind of a transport: its type, or what the class that the type names says. Raises KeyError without a type,
    and ImportError where there is no such class.
    """
    name = str(settings["type"])
    if name in get_default_factory().transports:
        return name
    transport = import_from_string(name)
    return str(getattr(transport, "kind", None) or transport.__name__)


_HTTP: Final = ("http", "async_http")
_KAFKA: Final = ("kafka", "msk-iam")
_UNUSABLE: Final = "the OpenLineage client's settings cannot be used"
_HINTS: Final = {
    ModuleNotFoundError: ". Install it beside the exporter (for Kafka: pip install 'openlineage-python[kafka]')",
    ImportError: ". It is the type of the transport: http, kafka, file, console, composite, or the class of your own",
    KeyError: ". A transport needs its type",
}


@contextmanager
def _faults_of_settings(secrets: Secrets) -> Iterator[None]:
    """Turns what the client raises for settings into a message for people."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the client raises what its transports raise, even bare KeyErrors
        if faults.is_of_lost_folder(error):  # where the client looks for openlineage.yml
            raise UsageError(faults.words(error, "nothing was sent")) from None
        if "valid url" in str(error):  # the client's words show the address, whose password nothing can find
            hint = "In a user and a password, /, #, ? and @ are percent-encoded"
            raise UsageError(f"{_UNUSABLE}: the address is not a valid URL. {_SCHEMES}. {hint}") from None
        hint = next((hint for kind, hint in _HINTS.items() if isinstance(error, kind)), "")
        raise UsageError(f"{_UNUSABLE}: {type(error).__name__}: {secrets.shown(str(error))}{hint}") from None


def _local(config: FileConfig) -> Path | None:
    """The file on this machine that the transport writes to, None where it is elsewhere."""
    path = str(config.log_file_path)
    if config.filesystem or ("://" in path and not path.startswith("file://")):
        return None
    return Path(url2pathname(urlsplit(path).path) if path.startswith("file://") else path)


def _refuse_file(path: Path) -> None:
    """Raises UsageError for a file to which no event can be written, or that is in an export. An open file of the
    process, such as /dev/stdout, can be a pipe that somebody reads.
    """
    shown, target = f"log_file_path {path}", Path(os.path.realpath(path))
    refuse_in_export(shown, target.parents)
    if str(path).startswith(("/dev/stdout", "/dev/stderr", "/dev/fd/")):
        return
    if target.is_dir() or target.is_fifo():
        raise UsageError(f"{shown}: is a {'folder' if target.is_dir() else 'pipe'}; give a file")
    if not target.parent.is_dir():
        raise UsageError(f"{shown}: cannot be written: its folder does not exist")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{shown}: cannot be written: Permission denied")


def _at_once(settings: Json) -> Json:
    """The settings of a transport with others in it, where those of ``async_http`` are of ``http``: the client's
    ``async_http`` follows redirects, and says that it sent what it only keeps.
    """
    parts = settings.get("transports")
    if isinstance(parts, dict):
        settings = {**settings, "transports": {name: part and _sent_at_once(part) for name, part in parts.items()}}
    elif isinstance(parts, list):
        settings = {**settings, "transports": [_sent_at_once(part) for part in parts]}
    if isinstance(settings.get("transport"), dict):
        settings = {**settings, "transport": _sent_at_once(settings["transport"])}
    return settings


def _sent_at_once(part: Json) -> Json:
    return _at_once({**part, "type": "http"} if part.get("type") == "async_http" else part)


def _settings_of_kafka(config: Json, wait: float, errors: BrokerErrors | None) -> Json:
    """What Kafka's client does unless its settings say otherwise: it gives up a message after so many seconds, so that
    none is still on its way when the event is sent again; and it logs as others do, and not straight to the terminal.
    ``errors``: notes the brokers that are not reached, which are then tried again each second.
    """
    lingers = float(config.get("linger.ms") or config.get("queue.buffering.max.ms") or 0)
    is_own = {"message.timeout.ms", "delivery.timeout.ms"} & set(config)
    timeout = {} if is_own else {"message.timeout.ms": int(max(wait * 1000, lingers)) + 1}
    noting: Json = {"error_cb": errors.note} if errors else {}
    if errors and "reconnect.backoff.ms" not in config:  # which may not be longer than the longest
        noting["reconnect.backoff.max.ms"] = 1_000
    return {**timeout, **noting, "logger": logging.getLogger("confluent_kafka")}


def _address_of(settings: Json, secrets: Secrets) -> str | None:
    """Where a transport by HTTP sends events, whose secrets are added; None for others. Raises UsageError."""
    with _faults_of_settings(secrets):
        if _kind(settings) not in _HTTP:
            return None
        address = _http_address(settings)
        secrets.add_address(address)
        return address


def _http_address(settings: Json) -> str:
    """Where a transport by HTTP sends events. Raises UsageError for settings that have no sense, which the client
    takes; no value is shown.
    """
    for key, kind, expected in (
        ("url", str, "a text"),
        ("endpoint", str, "a text"),
        ("custom_headers", dict, "a table of names and values"),
    ):
        if settings.get(key) is not None and not isinstance(settings[key], kind):
            raise UsageError(f"{_UNUSABLE}: {key} of the transport is {expected}")
    try:
        is_positive = settings.get("timeout") is None or 0 < float(settings["timeout"]) < float("inf")
    except (TypeError, ValueError):
        is_positive = False
    if not is_positive:
        raise UsageError(f"{_UNUSABLE}: timeout of the transport is a number of seconds above 0")
    transport = HttpTransport(HttpConfig.from_dict(dict(settings)))
    scheme, text, _ = transport.url.partition("://")
    if not text or scheme.lower() not in {"http", "https"}:
        problem = f"begins with {visible(scheme)}://" if text else "has no scheme"  # more can be a user and a password
        raise UsageError(f"{_UNUSABLE}: the address {problem}. {_SCHEMES}")
    address = urljoin(transport.url, transport.endpoint)
    if transport.endpoint.startswith("api/v1") and urlsplit(transport.url).path.rstrip("/").endswith(_OWN_PATHS):
        raise UsageError(
            f"{_UNUSABLE}: the client adds the path {visible(transport.endpoint)}, which the address has already. Give "
            "the address without it, such as http://host:5000 (OPENLINEAGE_URL, or url of the transport)"
        )
    return address


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
