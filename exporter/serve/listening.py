"""Where a server listens, and whose requests it answers: the same rules for pages and for assistants.

A server is for the user of this machine, and has no login unless it is asked for one (:mod:`exporter.serve.login`). A
page of another site that is open in the same browser must not be able to read it. So the host name of a request has to
be one of this machine (another site could point its own name here), and requests from pages of other sites are refused.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from exporter.errors import UsageError

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
