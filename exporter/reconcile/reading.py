"""Declarations are found: in files, whose content says what they are, or in a Marquez, by its address.

They are other people's files, so sizes, depth and types are checked, and an error names the file and the place in it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec
import urllib3
from msgspec import Raw, Struct
from urllib3.exceptions import HTTPError

from exporter.errors import UsageError
from exporter.reconcile import contract, dbt, openlineage
from exporter.reconcile.declared import Declaration
from exporter.reconcile.openlineage import LineageEvent, SplitRuns
from exporter.system import files

LARGEST: Final = 512 << 20
"""The most bytes of a file, unpacked: it is read into memory as a whole."""
LARGEST_ANSWER: Final = 256 << 20
"""The most bytes of one answer of a Marquez."""
_AT_ONCE: Final = 500
"""Events in one answer of a Marquez."""
_PATIENCE: Final = 60.0
_is_address: Final = re.compile("https?://", re.IGNORECASE).match


class _Head(Struct):
    """The keys by which the kinds of documents are recognised."""

    metadata: Raw = Raw()
    nodes: Raw = Raw()
    parent_map: Raw = Raw()
    eventTime: Raw = Raw()  # noqa: N815 - OpenLineage's name


_head: Final = msgspec.json.Decoder(_Head).decode
_manifest: Final = msgspec.json.Decoder(dbt.Manifest).decode
_array: Final = msgspec.json.Decoder(list[Raw]).decode


def read(files_and_addresses: Iterable[str], server: str | None = None) -> list[Declaration]:
    """The declarations in files and at addresses. Raises UsageError for what is none, here or from its items.
    ``server``: the name of the server to compare with, for data contracts that have several.
    """
    runs = SplitRuns()
    return [
        _marquez(place, runs) if _is_address(place) else _file(place, server, runs) for place in files_and_addresses
    ]


def _file(path: str, server: str | None, runs: SplitRuns) -> Declaration:
    packed, data = _bytes(path)
    if not data.strip():
        raise UsageError(f"{path}: is empty. {_HOW}")
    name = path.rpartition("/")[2]
    is_contract = name.lower().endswith((".yaml", ".yml"))
    declaration: Declaration = (
        contract.read(data, path, server).declaration(name) if is_contract else _document(data, path, name, runs)
    )
    declaration.what_was_read.update(packed)
    return declaration


_HOW: Final = (
    "Give dbt's manifest.json, a file of OpenLineage events (one a line, or an array), a data contract (.yaml), or the "
    "address of a Marquez"
)


def _bytes(path: str) -> tuple[bytes, bytes]:
    """The bytes of a file, and the same unpacked."""
    try:
        packed = data = files.read(path, LARGEST + 1)
        if data.startswith(b"\x1f\x8b"):
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = unpacker.decompress(data, LARGEST + 1)
            if not unpacker.eof and len(data) <= LARGEST:
                raise UsageError(f"{path}: cannot be unpacked: it ends too early")
    except zlib.error as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}. {_HOW}") from None
    if len(data) > LARGEST:
        raise UsageError(f"{path}: has more than {LARGEST >> 20} MiB. Split a file of events into several")
    return packed, data.removeprefix(b"\xef\xbb\xbf")


def _document(data: bytes, path: str, name: str, runs: SplitRuns) -> Declaration:
    """One JSON document, or one a line."""
    try:
        if data.lstrip()[:1] == b"[":
            return _events(name, f"{path}, element", _array(data), runs)
        head = _head(data)
        if bytes(head.eventTime):
            return _events(name, path, [data], runs)
        if not bytes(head.metadata) or not bytes(head.nodes):
            raise UsageError(f"{path}: is neither a manifest of dbt nor an event of OpenLineage. {_HOW}")
        if not bytes(head.parent_map) and b"dbt.com/dbt/catalog" in bytes(head.metadata):
            raise UsageError(
                f"{path}: is dbt's catalog, which has columns and no lineage. Give manifest.json beside it"
            )
        return _of_dbt(data, path, name)
    except RecursionError:
        raise UsageError(f"{path}: is nested too deep. {_HOW}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}. {_HOW}") from None
    except msgspec.DecodeError as error:
        if b"\n" in data.strip() and "trailing characters" in str(error):
            return _events(name, f"{path}, line", data.split(b"\n"), runs)
        raise UsageError(f"{path}: is no JSON: {error}. {_HOW}") from None


def _of_dbt(data: bytes, path: str, name: str) -> Declaration:
    try:
        manifest = _manifest(data)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: is not a manifest of dbt: {error}") from None
    version = manifest.metadata.dbt_schema_version.rpartition("/")[2].removesuffix(".json")
    form = f"{dbt.FORM} {version}" if re.fullmatch(r"v\d{1,4}", version) else dbt.FORM
    declaration = Declaration(name, form, iter(()), manifest.at)
    declaration.items = dbt.items(manifest, path, declaration.left_out)
    return declaration


def _events(name: str, place: str, texts: Sequence[bytes] | Sequence[Raw], runs: SplitRuns) -> Declaration:
    """``place``: of the texts, to which their numbers are added if there are several; empty lines are none."""
    runs.failed.update(filter(None, map(openlineage.failed_run, texts)))
    places = [place] if len(texts) == 1 and isinstance(texts[0], bytes) else map(f"{place} {{}}".format, count(1))
    numbered = ((at, text) for at, text in zip(places, texts, strict=False) if bytes(text).strip())
    events = ((at, openlineage.event(text, at)) for at, text in numbered)
    declaration = Declaration(name, openlineage.FORM, iter(()))
    declaration.items = openlineage.items(events, declaration, runs)
    return declaration


# --- Marquez ----------------------------------------------------------------------------------------------------------


class _Answer(Struct):
    events: list[Raw]


_answer: Final = msgspec.json.Decoder(_Answer).decode


def _marquez(address: str, runs: SplitRuns) -> Declaration:
    """The events that a Marquez keeps (GET /api/v1/events/lineage), the oldest first."""
    try:
        parts = urlsplit(address)
        host, user, password = parts.hostname or "", parts.username, parts.password
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # its words can have a part of the password
        raise UsageError(
            "the address of Marquez is not a valid URL, such as http://HOST:5000. In a user and a password, /, #, ? "
            "and @ are percent-encoded"
        ) from None
    if not host or parts.query or parts.fragment:
        raise UsageError("the address of Marquez is written as http://HOST:5000, without ? and #")
    place = f"[{host}]{port}" if ":" in host else f"{host}{port}"
    public_address = urlunsplit((parts.scheme.lower(), place, parts.path, "", ""))
    headers = urllib3.make_headers(basic_auth=f"{user}:{password or ''}") if user else {}
    declaration = Declaration(public_address.rstrip("/"), "OpenLineage events of a Marquez", iter(()))
    declaration.items = openlineage.items(_pages(declaration, headers), declaration, runs)
    return declaration


def _pages(declaration: Declaration, headers: dict[str, str]) -> Iterator[tuple[str, LineageEvent]]:
    place, offset = declaration.name.removesuffix("/api/v1"), 0
    with urllib3.PoolManager(headers=headers, retries=urllib3.Retry(2, redirect=0), timeout=_PATIENCE) as pool:
        while True:
            query = urlencode({"limit": _AT_ONCE, "offset": offset, "sortDirection": "asc"})
            events = _page(pool, f"{place}/api/v1/events/lineage?{query}", place)
            for number, text in enumerate(events, offset + 1):
                declaration.what_was_read.update(bytes(text))
                yield f"{place}, event {number}", openlineage.event(text, f"{place}, event {number}")
            offset += len(events)
            if len(events) < _AT_ONCE:
                return


def _page(pool: urllib3.PoolManager, url: str, place: str) -> list[Raw]:
    try:
        answer = pool.request("GET", url, preload_content=False)
        data = answer.read(LARGEST_ANSWER + 1)
        answer.release_conn()
    except HTTPError as error:
        reason = getattr(error, "reason", None) or error
        problem = str(reason).rpartition(": ")[2] or type(reason).__name__
        raise UsageError(f"{place}: Marquez does not answer: {problem}") from None
    if answer.status != 200:
        raise UsageError(f"{place}: answers {answer.status} to GET /api/v1/events/lineage; is it a Marquez?")
    if len(data) > LARGEST_ANSWER:
        raise UsageError(f"{place}: {_AT_ONCE} events have more than {LARGEST_ANSWER >> 20} MiB")
    try:
        return _answer(data).events
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{place}: what it answers is not a list of events: {error}; is it a Marquez?") from None
