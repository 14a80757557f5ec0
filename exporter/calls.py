"""Fewer calls from PySpark into the JVM: a plan is made of thousands, and each crosses a socket.

Nothing of PySpark or py4j is changed but what this one gateway's objects answer, and they answer the same.
"""

from __future__ import annotations

import contextlib
from collections import deque
from functools import cache, reduce
from typing import TYPE_CHECKING

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, JavaClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from py4j.java_gateway import JavaClass, JavaGateway, JavaMember, JavaObject


def make_fewer(gateway: JavaGateway) -> None:
    """Look up Spark's functions once, send lists ten elements at a time, and let go of objects many at a time."""
    jvm, client = gateway.jvm, gateway._gateway_client  # noqa: SLF001 - py4j has no public way to change when it lets go
    jvm.functions = _Functions(jvm.functions)
    setattr(jvm, "org.apache.spark.sql.functions", jvm.functions)
    jvm.PythonSQLUtils = _Remembered(jvm.PythonSQLUtils)
    jvm.PythonUtils = _PythonUtils(jvm.PythonUtils, jvm.java.util.List.of)
    if isinstance(client, JavaClient):
        client.finalizer_deque = LetGoLater(client.finalizer_deque)


class _Remembered:
    """A Java class with methods looked up once: PySpark would ask for one at each of thousands of calls."""

    def __init__(self, found: JavaClass) -> None:
        self._found = found

    def __getattr__(self, name: str) -> JavaMember:
        member = getattr(self._found, name)
        setattr(self, name, member)
        return member


class _Functions(_Remembered):
    """Spark's functions; a column that is only named is the same whoever names it."""

    def __init__(self, found: JavaClass) -> None:
        super().__init__(found)
        of = found.col

        @cache
        def col(name: str) -> JavaObject:
            return of(name)

        self.col = col


class _PythonUtils(_Remembered):
    """Spark's PythonUtils; what it takes as a list crosses to the JVM ten at a time and not one by one."""

    _ONCE = 10  # what java.util.List.of takes

    def __init__(self, found: JavaClass, list_of: JavaMember) -> None:
        super().__init__(found)
        self._to_seq, self._list_of = found.toSeq, list_of

    def toSeq(self, items: Sequence[object]) -> JavaObject:  # noqa: N802 - the name that PySpark calls
        if not isinstance(items, list | tuple) or not items or any(item is None for item in items):
            return self._to_seq(items)  # java.util.List.of takes no null
        tens = (items[at : at + self._ONCE] for at in range(0, len(items), self._ONCE))
        parts = [self._to_seq(self._list_of(*ten)) for ten in tens]
        return reduce(lambda so_far, part: so_far.concat(part), parts)


class LetGoLater:
    """What Python no longer holds, told to the JVM so many at once: one by one it is a call for each of a plan's parts.
    A short run is over before it tells any.
    """

    AT_ONCE = 10_000

    def __init__(self, told: deque[object]) -> None:
        self._told, self._waiting = told, deque[object]()

    def appendleft(self, one: object) -> None:
        self._waiting.append(one)
        if one == SHUTDOWN_FINALIZER_WORKER or len(self._waiting) > self.AT_ONCE:
            with contextlib.suppress(IndexError):  # until nothing waits; another thread may be at it
                while True:
                    self._told.appendleft(self._waiting.popleft())
