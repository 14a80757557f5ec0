"""Remove rows from DIR: those of users, or from before a day. First the names that a person gave are resolved to users
that DIR has, by Snowflake's rule: letter case counts only in quotes. Whole queries are removed, with their lines of
QUERY_HISTORY. The user of a line without a row is not known: such a line is kept only if rows are removed by day and it
ended on a day that is kept.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from exporter.errors import RefusedError
from exporter.messages import QUERY, by_key, rank
from exporter.privacy.patterns import stored, typed
from exporter.queries.facts import History
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.steps.reading import LINE, ROW
from exporter.steps.state import day_of
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.messages import Message
    from exporter.privacy.key import Key
    from exporter.steps.job import Job

_HAS, _NEAR = "user ", "near "
"""Beginnings of counts: the place of a name among those given, and a user that it means, or that is similar."""
_NEAREST: Final = 3
"""Most similar users that are named."""
_SIMILAR: Final = 0.6
_WORD: Final = re.compile(r"([^\W\d_]+)")
_MOST_WORDS: Final = 7
"""The most words of a name whose letter cases are combined: 3 of each."""
_row: Final = msgspec.msgpack.Decoder(tuple[Any, str]).decode
_line: Final = msgspec.msgpack.Decoder(History).decode


class Asked(NamedTuple):
    """A user to forget. ``given``: the name as a person gave it. ``spellings``: what it can be in DIR, the first that
    DIR has counts. ``any_case``: whether other letter cases mean the same, if DIR has none of the spellings.
    ``others``: the pseudonyms of the usual other letter cases; all of them cannot be tried.
    """

    given: str
    spellings: tuple[str, ...]
    any_case: bool
    others: frozenset[str] = frozenset()


def asked_for(given: str, key: Key | None) -> Asked:
    """What a name means. ``key``: of DIR's pseudonyms. A pseudonym means itself. A text that is no identifier without
    quotes, such as an e-mail address, means the user in any letter case.
    """
    name = stored(given)
    is_exact = given.startswith('"') or stored(given.lower()) != given.lower()
    names = (name,) if is_exact else tuple(dict.fromkeys((name, name.upper(), name.lower())))
    if key is not None:  # users in `keep` have no pseudonym
        others = frozenset() if is_exact else frozenset(map(key.pseudonym, _letter_cases(name)))
        return Asked(given, (*map(key.pseudonym, names), *names), any_case=not is_exact, others=others)
    return Asked(given, names, any_case=not is_exact)


def _letter_cases(name: str) -> Iterator[str]:
    """A name with each word in lower case, in upper case, and with a capital: ``Jane.Doe@Example.com``. In a name of
    many words, those on the same side of an @ are alike.
    """
    parts = _WORD.split(name)
    if len(parts) // 2 > _MOST_WORDS:
        parts = re.split("(@)", name)
    for chosen in product(*(dict.fromkeys((part.lower(), part.upper(), part.title())) for part in parts)):
        yield "".join(chosen)


def look_up(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Count the users of these rows that the given names mean, and the most similar others."""
    users = {row.user_name for row in map(_row_of, messages) if row is not None and row.user_name}
    tally = Tally()
    for place, one in enumerate(job.forget_asked):
        for user in sorted(user for user in users if _means(one, user)):
            tally.count(f"{_HAS}{place} {user}")
        for user in _nearest(one, users):
            tally.count(f"{_NEAR}{place} {user}")
    yield tally.message()


def resolved(counts: Iterable[str], job: Job) -> tuple[str, ...]:
    """The users to forget, from the names of the counts of :func:`look_up`. Raises RefusedError, with the most similar
    users, if DIR does not have one of them.
    """
    names = list(counts)
    found, missing = list[str](), list[str]()
    for place, one in enumerate(job.forget_asked):
        there = {name.removeprefix(f"{_HAS}{place} ") for name in names if name.startswith(f"{_HAS}{place} ")}
        exact = [user for user in one.spellings if user in there]
        if there:
            found += exact[:1] or sorted(there)
        else:
            near = {name.removeprefix(f"{_NEAR}{place} ") for name in names if name.startswith(f"{_NEAR}{place} ")}
            told = ", ".join(map(typed, _nearest(one, near)))
            missing.append(f"{one.given} (did you mean {told}?)" if told else one.given)
    if missing:
        hidden = any(one.others for one in job.forget_asked)
        unknown = "; with pseudonyms the letter case of other names has to be as in the rows" if hidden else ""
        raise RefusedError(
            f"forget_user: DIR has no rows of {'; '.join(missing)}. Nothing was changed. Letter case counts only in "
            f"quotes: jsmith is the user JSMITH, '\"jsmith\"' the user jsmith{unknown}"
        )
    return tuple(sorted(set(found)))


def _means(one: Asked, user: str) -> bool:
    return user in one.spellings or user in one.others or (one.any_case and user.upper() == one.given.upper())


def _nearest(one: Asked, users: Iterable[str]) -> list[str]:
    """The users with the most similar names, the most similar first."""
    alike = [(-SequenceMatcher(None, one.given.upper(), user.upper()).ratio(), user) for user in users]
    return [user for ratio, user in sorted(alike)[:_NEAREST] if -ratio >= _SIMILAR]


def _row_of(message: Message) -> Row | None:
    if message.to != QUERY or rank(message) != ROW:
        return None
    row = read_line(_row(message.body)[1])
    return row if isinstance(row, Row) else None


def forget(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The messages of the queries that are kept."""
    tally = Tally()
    for _, _, group in by_key(messages):
        heard = list(group)
        each = [row for row in map(_row_of, heard) if row is not None]
        if not each:
            yield from (one for one in heard if not _is_of_nobody(one, job))
        elif _is_forgotten(each, job):
            tally.count("forgotten", len(each))
            tally.count("forgotten_queries")
        else:
            yield from heard
    yield tally.message()


def _is_forgotten(rows: list[Row], job: Job) -> bool:
    if job.forget_before and day_of(min(row.start for row in rows)) < job.forget_before:
        return True
    return any(row.user_name in job.forget_users for row in rows)


def _is_of_nobody(message: Message, job: Job) -> bool:
    """Whether it is a line of a query without a row that may belong to the removed queries."""
    if message.to != QUERY or rank(message) != LINE:
        return False
    end = _line(message.body).end_time
    return bool(job.forget_users) or end is None or day_of(end) < job.forget_before
