"""The parameters that the address of a page can have. Another one is refused: without it, the page would be of more
than was asked for, such as of all time where ``since`` is misspelled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import ParamSpec, TypeVar

from flask import request

from exporter.ask.parameters import nearest_name
from exporter.errors import UsageError

_Given = ParamSpec("_Given")
_Page = TypeVar("_Page")


def takes(*once: str, several: Collection[str] = ()) -> Callable[[Callable[_Given, _Page]], Callable[_Given, _Page]]:
    """Of a page: raises UsageError for a parameter in the address that is not one of these, and for one of ``once``
    that is given more than once, since only one would count. ``several``: those that can have several values.
    """

    def checked(page: Callable[_Given, _Page]) -> Callable[_Given, _Page]:
        @wraps(page)
        def answer(*args: _Given.args, **kwargs: _Given.kwargs) -> _Page:
            _check(once, several)
            return page(*args, **kwargs)

        return answer

    return checked


def _check(once: Collection[str], several: Collection[str]) -> None:
    names = [*once, *several]
    for name, values in request.args.lists():
        if name not in names:
            listed = f"Its parameters: {', '.join(names)}." if names else "It takes none."
            raise UsageError(f"This page has no parameter {name}.{nearest_name(name, names)} {listed}")
        if name in once and len(values) > 1:
            raise UsageError(f"{name} is given {len(values)} times in this address: this page takes one value of it.")
