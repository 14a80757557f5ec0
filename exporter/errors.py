"""The errors of the program. Each message says what failed, where, and what to do.

::

    ExporterError          exit 4   a fault of the program or of its environment (messages: exporter/system/faults.py)
    ├── UsageError         exit 2   arguments, settings or input that cannot be used
    ├── UnreachableError   exit 3   a backend does not answer
    └── RefusedError       exit 1   a check failed
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

_PASSWORD: Final = re.compile(
    r"(?<=[A-Za-z0-9]:)/{1,2}[^\s/@:]*:(?!\d+(?:[/?#'\"\s]|\Z))\S*@"
    r"|(?:(?<=http:)|(?<=https:)|(?<=s3:)|(?<=s3a:)|(?<=s3n:)|(?<=gs:))/{1,2}[^\s/@]+@"
    r"|(?<=[A-Za-z0-9]:)/{1,2}[^\s/@]*%3[aA][^\s/@]*(?:@|%40)",
    re.IGNORECASE,
)
"""User and password in a URI, also percent-encoded; a password may have ``/`` and ``@``. A user alone is hidden in
addresses of the web and of buckets, where it can be a token or the id of a key; elsewhere it is none
(``abfss://container@account…``). ``Path`` makes one slash of two. A number after the colon is a port.
"""
_SECRET: Final = re.compile(
    r"(?i)([?&;#](?:sig|signature|passwd|(?:[a-z]+[_-])*(?:password|pwd|token|secret|credentials?)"
    r"|[a-z-]*(?:access|account|private|api|client)[_-]?(?:key|secret)[a-z-]*|x-(?:amz|goog)-[a-z-]+)=)[^&;#\s'\"]+"
)
"""A secret among the parameters of a URI, or in its fragment: a shared access signature, a signed address, a login."""
_BARE_SECRET: Final = re.compile(
    r"((?:(?<=wasb)|(?<=wasbs)|(?<=abfs)|(?<=abfss)):/{1,2}[^\s?#'\"]+[?#])"
    r"(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*[0-9])[A-Za-z0-9%+=_~-]{12,}(?=[\s'\":,]|\Z)"
)
"""What stands after the path of a location in Azure without a name, and looks like a token; ``?`` is also a wildcard.
"""


def without_passwords(text: str) -> str:
    """A text with ``***`` in the place of users, passwords and secret parameters of URIs.

    >>> without_passwords("s3a://key:word@bucket/x: and https://token@host, abfss://box@account/x")
    's3a://***@bucket/x: and https://***@host, abfss://box@account/x'
    >>> without_passwords("s3a://k:p@ss/word@bucket/x abfss://box@account/x?sv=1&sig=abc%3D hdfs://host:8020/a@b")
    's3a://***@bucket/x abfss://box@account/x?sv=1&sig=*** hdfs://host:8020/a@b'
    >>> without_passwords("https://h/x#access_token=abc s3a://KEY@bucket/x s3a://key%3Aword%40bucket/x")
    'https://h/x#access_token=*** s3a://***@bucket/x s3a://***@bucket/x'
    """
    hidden = _PASSWORD.sub(lambda match: f"{'/' * (len(match[0]) - len(match[0].lstrip('/')))}***@", text)
    return _BARE_SECRET.sub(r"\1***", _SECRET.sub(r"\1***", hidden))


def described(value: object) -> str:
    """A value of a wrong type in a message: itself if it is short and plain, else its type."""
    is_plain = value is None or isinstance(value, str | int | float)
    return f"{value!r:.200}" if is_plain else f"an object of the type {type(value).__name__}"


class ExporterError(Exception):
    """The base class. The message is for the person who runs the program; it shows no password of a URI."""

    exit_code: ClassVar[int] = 4

    def __init__(self, *args: Any) -> None:
        super().__init__(*(without_passwords(text) if isinstance(text, str) else text for text in args))


class UsageError(ExporterError):
    """Arguments, settings or input cannot be used. Output that exists is unchanged."""

    exit_code = 2


class RefusedError(ExporterError):
    """A check failed: the answer has rows (``--fail-on-rows``), edges are forbidden (``--fail-on``), DIR has no rows of
    the user to forget, or the shapes refuse a declared graph. An export that quarantines rows raises nothing: its
    result has the exit code.
    """

    exit_code = 1


class UnreachableError(ExporterError):
    """With ``push --verify``, the backend did not answer the first request, so nothing was sent."""

    exit_code = 3
