"""Where a server listens, whose requests it answers, and who may use its pages.

A server is for the user of this machine, and has no login unless it is asked for one. A page of another site that is
open in the same browser must not be able to read it. So the host name of a request has to be one of this machine
(another site could point its own name here), and requests from pages of other sites are refused. The rules are the same
for pages and for assistants.

A login is a name and a password in a file, or a name that a proxy has checked; all see the same. ``basic:FILE``: HTTP
Basic authentication (RFC 7617). The file has a line ``NAME:HASH`` for each user; a hash is one that
``werkzeug.security.generate_password_hash`` makes: scrypt (RFC 7914) with a salt. Hashes are compared in constant time,
and an unknown name takes as long as a wrong password. ``header:NAME``: the proxy in front sends the name of the user in
this header; nobody else may reach the server. Neither passwords nor hashes are in a message or a log.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from hashlib import blake2b
from ipaddress import ip_address
from pathlib import Path
from secrets import token_bytes
from threading import BoundedSemaphore, Lock
from typing import Final
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.security import check_password_hash, generate_password_hash

from exporter.errors import UsageError
from exporter.system import files

# --- hosts and sites --------------------------------------------------------------------------------------------------


Header = Callable[[str], str | None]


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach a server at ``host``."""
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host.lower() == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises UsageError where that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(f"{host}:{port}: {error.strerror or error}; give another --host or --port.") from error


def address(host: str, listens: socket.socket) -> str:
    """``http://127.0.0.1:7878``: where a server at ``host`` is reached."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listens.getsockname()[1]}"


def names_of(host: str) -> frozenset[str]:
    """The names by which a server that listens at ``host`` may be asked, besides any address."""
    names = {"localhost", host.lower()}
    if not is_loopback(host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def refusal(names: AbstractSet[str] | None, method: str, header: Header) -> tuple[int, str] | None:
    """Why a request is refused, as status and text; None if it is not. ``names``: of :func:`names_of`; None where the
    server has a login: then any name is right, because a browser sends a login only to the name that it was
    given at. ``header``: gives a header of the request.
    """
    host = header("Host") or ""
    name = ""
    with suppress(ValueError):
        name = (urlsplit(f"//{host}").hostname or "").lower()
    if names is not None and not _is_address(name) and name not in names:
        return 421, f"This server is not called {host!r}. Use its address or localhost."
    if _is_from_elsewhere(host, method, header):
        return 403, "Requests from pages of other sites are refused."
    return None


def _is_address(host: str) -> bool:
    """Whether it is an IP address: unlike a name, nobody can make it point to another machine."""
    with suppress(ValueError):
        return bool(ip_address(host))
    return False


def _is_from_elsewhere(host: str, method: str, header: Header) -> bool:
    """Whether a page of another site sent the request, by the browser's headers. Following a link from there is
    allowed.
    """
    if (header("Sec-Fetch-Site") or "none") not in {"none", "same-origin"}:
        return not (method == "GET" and header("Sec-Fetch-Mode") == "navigate")
    origin = header("Origin")
    return origin is not None and origin.partition("://")[2] != host


# --- users ------------------------------------------------------------------------------------------------------------


Check = Callable[[], Response | None]

_is_header: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*").fullmatch
_is_hash: Final = re.compile(r"scrypt:\d+:\d+:\d+\$[^$]+\$[0-9a-f]+").fullmatch
_SENT_BY_ALL: Final = frozenset({"host", "user-agent", "accept", "accept-encoding", "accept-language", "connection"})
"""Headers that clients send by themselves."""
_LARGEST: Final = 1 << 20
"""The bytes of the file that are read."""
_MOST_REMEMBERED: Final = 1_000
_MOST_CHECKED: Final = 3
"""Passwords that are compared or wait for it. Each takes a thread of the pages, so more are answered 503."""
_USAGE: Final = "give basic:FILE, with a line NAME:HASH for each user, or header:NAME"


def check_of(auth: str) -> Check:
    """The check of each request: None where it may go on. Raises UsageError for what is neither form, and for a file
    that cannot be used.
    """
    kind, _, rest = auth.partition(":")
    if kind == "basic" and rest:
        return _Basic(_users(Path(rest)))
    if kind == "header" and rest.lower() in _SENT_BY_ALL:
        raise UsageError(f"--auth {auth}: every client sends {rest}; give the header in which a proxy names the user.")
    if kind == "header" and _is_header(rest):
        return lambda: None if request.headers.get(rest, "").strip() else _refused(f"The proxy sent no {rest}.", 403)
    shown = auth if kind == "header" and ":" not in rest else "***"  # it may be a password
    raise UsageError(f"--auth {shown}: {_USAGE}.")


def _users(path: Path) -> dict[str, str]:
    try:
        lines = files.read(path, _LARGEST).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        shown = "***" if ":" in str(path) else path  # a name and a password, where a file is expected
        raise UsageError(f"--auth basic:{shown}: {why}; {_USAGE}.") from None
    users = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            name, _, hashed = line.strip().partition(":")
            if not name or not _is_hash(hashed):
                how = "docs/serve.md says how to make one"
                raise UsageError(f"{path}, line {number}: is not NAME:HASH with a hash of scrypt; {how}.")
            users[name] = hashed
    if not users:
        raise UsageError(f"{path}: has no user; {_USAGE}.")
    return users


class _Basic:
    """Names and passwords. One that was right is remembered by a keyed digest, since scrypt is slow on purpose."""

    def __init__(self, users: dict[str, str]) -> None:
        self._users = users
        self._unknown_user_hash = generate_password_hash(token_bytes(16).hex())
        self._key, self._verified, self._lock = token_bytes(32), set[bytes](), Lock()
        self._free = BoundedSemaphore(_MOST_CHECKED)

    def __call__(self) -> Response | None:
        credentials = request.authorization
        if credentials is None or credentials.type != "basic":
            return self._unauthorized()
        name, password = credentials.username or "", credentials.password or ""
        digest = blake2b(f"{name}:{password}".encode(), key=self._key).digest()
        if digest in self._verified:
            return None
        if not self._free.acquire(blocking=False):
            answer = _refused("Too many passwords are checked at once. Try again in some seconds.", 503)
            answer.headers["Retry-After"] = "2"
            return answer
        try:
            with self._lock:  # one at a time, so that guesses do not take all of the machine
                is_right = check_password_hash(self._users.get(name, self._unknown_user_hash), password)
        finally:
            self._free.release()
        if not is_right:
            return self._unauthorized()
        if len(self._verified) < _MOST_REMEMBERED:
            self._verified.add(digest)
        return None

    @staticmethod
    def _unauthorized() -> Response:
        answer = _refused("A name and a password are needed.", 401)
        answer.headers["WWW-Authenticate"] = 'Basic realm="access history", charset="UTF-8"'
        return answer


def _refused(why: str, status: int) -> Response:
    return Response(f"{why}\n", status, content_type="text/plain; charset=utf-8")
