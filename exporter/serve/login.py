"""Who may use the pages: a name and a password in a file, or a name that a proxy has checked. All see the same.

``basic:FILE``: HTTP Basic authentication (RFC 7617). The file has a line ``NAME:HASH`` for each user; a hash is one
that ``werkzeug.security.generate_password_hash`` makes: scrypt (RFC 7914) with a salt. Hashes are compared in constant
time, and an unknown name takes as long as a wrong password. ``header:NAME``: the proxy in front sends the name of the
user in this header; nobody else may reach the server. Neither passwords nor hashes are in a message or a log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from threading import BoundedSemaphore, Lock
from typing import Final

from flask import Response, request
from werkzeug.security import check_password_hash, generate_password_hash

from exporter.errors import UsageError
from exporter.system import files

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
    kind, _, value = auth.partition(":")
    if kind == "basic" and value:
        return _Basic(_users(Path(value)))
    if kind == "header" and value.lower() in _SENT_BY_ALL:
        raise UsageError(f"--auth {auth}: every client sends {value}; give the header in which a proxy names the user.")
    if kind == "header" and _is_header(value):
        return lambda: None if request.headers.get(value, "").strip() else _refused(f"The proxy sent no {value}.", 403)
    shown = auth if kind == "header" and ":" not in value else "***"  # it may be a password
    raise UsageError(f"--auth {shown}: {_USAGE}.")


def _users(path: Path) -> dict[str, str]:
    try:
        lines = files.read(path, _LARGEST).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        shown = "***" if ":" in str(path) else path  # a name and a password, where a file is expected
        raise UsageError(f"--auth basic:{shown}: {reason}; {_USAGE}.") from None
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
