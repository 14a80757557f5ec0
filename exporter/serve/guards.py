"""Protects the pages: who may ask, and what a browser may do with an answer.

The server is for the user of this machine, and has no login. A page of another site that is open in the same browser
must not be able to read it. So the host name of a request has to be one of this machine (another site could point its
own name here), requests from pages of other sites are refused, and no answer allows other sites to read it. Names in
rows may hold anything: templates escape them. If one should get through, the browser runs only what the policy allows.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from flask import Response, g, request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

POLICY: Final[Mapping[str, str]] = {
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
"""The Content-Security-Policy of a page: no scripts, and nothing from other sites."""
_HEADERS: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach a server at ``host``."""
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host.lower() == "localhost"


def protect(app: Flask, host: str) -> None:
    """Checks all requests, and sets the headers of all answers, of a server that listens at ``host``."""
    names = {"localhost", host.lower()}
    if not is_loopback(host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    @app.before_request
    def asked_by_us() -> Response | None:
        if not _is_address(_hostname(request.host)) and _hostname(request.host) not in names:
            why = f"This server is not called {request.host!r}. Use its address or localhost."
            return Response(f"{why}\n", 421, mimetype="text/plain")
        if _is_from_elsewhere():
            return Response("Requests from pages of other sites are refused.\n", 403, mimetype="text/plain")
        return None

    @app.after_request
    def guarded(answer: Response) -> Response:
        policy = {**POLICY, **g.get("policy", {})}
        answer.headers["Content-Security-Policy"] = "; ".join(f"{what} {who}" for what, who in policy.items())
        answer.headers.update(_HEADERS)
        answer.headers.setdefault("Cache-Control", "no-cache, private")
        return answer


def _is_address(host: str) -> bool:
    """Whether it is an IP address: unlike a name, nobody can make it point to another machine."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _hostname(host: str) -> str:
    """The name or address in a Host header or an origin, without port, in lower case."""
    with suppress(ValueError):
        return (urlsplit(f"//{host}").hostname or "").lower()
    return ""


def _is_from_elsewhere() -> bool:
    """Whether a page of another site sent the request, by the browser's headers. Following a link from there is
    allowed.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return not (request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate")
    origin = request.headers.get("Origin")
    return origin is not None and origin.partition("://")[2] != request.host
