"""100,000 pairs of nearly identical names never share an IRI: nothing is merged silently."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from exporter.graph.iri import Iris, absolute_iri
from exporter.input.row import Row
from exporter.model.identifiers import kind_of, known_name, normal_domain, object_key
from exporter.model.query import account_of

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS: Final = 100_000
ACCOUNT: Final = "ACME-PROD"
BASE: Final = f"snowflake://{ACCOUNT}/"
LETTERS: Final = "aAbB019_$.-~*+ %/\\\"'#?&=:@<>{}|^`;,()[]!\t\n\r\0\x7f\x85éÉßſıİ\u0301\u200b\u202e\u2028\ufeff🦖"  # noqa: RUF001 - these letters are the test
PIECES: Final = (
    "%2E",
    "%2F",
    "%25",
    "..",
    "/column/",
    "/version/",
    "name/",
    "s3://",
    '""',
    "column",
    "initial-version",
)
OTHER_LOOKS: Final = {
    "a": "A",
    "A": "a",
    ".": "%2E",
    "/": "%2F",
    " ": "%20",
    "é": "e\u0301",
    "É": "é",
    '"': '""',
    "%": "%25",
    "ß": "ss",
}
Identity = tuple[str, ...]


def drawn(rng: Random) -> str:
    """A name of odd letters."""
    letters = [rng.choice(LETTERS) if rng.random() < 0.9 else rng.choice(PIECES) for _ in range(rng.randint(1, 8))]
    return "".join(letters)


def nearly(name: str, rng: Random) -> str:
    """The name with one letter that is another, is missing, or is spelt in another way."""
    at = rng.randrange(len(name))
    other = rng.choice((OTHER_LOOKS.get(name[at], "_"), rng.choice(LETTERS), "", name[at] * 2))
    return name[:at] + other + name[at + 1 :]


def quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'


def of_parts(name: str) -> tuple[str, Identity]:
    """A name of two quoted identifiers, parted in the middle: as rows spell it, and what it is."""
    half = len(name) // 2
    parts = [part for part in (name[:half], name[half:]) if part]
    return ".".join(map(quoted, parts)), tuple(parts)


class Things:
    """Makes the IRI of a thing of a drawn kind, with what makes it that thing and no other."""

    def __init__(self) -> None:
        self._iris = {ACCOUNT: Iris(ACCOUNT, ACCOUNT, BASE)}
        self.makers: tuple[Callable[[str], tuple[str, Identity]], ...] = (
            lambda name: (self.own.user(name), ("user", name)),
            lambda name: (self.own.query(name), ("query", name)),
            lambda name: (self.own.column("table/1", name), ("column", name)),
            lambda name: (self.own.column_state("table/1", "version/q", name), ("column version", name)),
            lambda name: (self.own.version("table/1", name), ("version", name)),
            lambda name: self.table("TABLE", name),
            lambda name: self.table("VIEW", name),
            self.of_domain,
            self.location,
            self.elsewhere,
        )

    @property
    def own(self) -> Iris:
        return self._iris[ACCOUNT]

    def table(self, domain: str, name: str) -> tuple[str, Identity]:
        spelt, parts = of_parts(name)
        key = object_key(kind_of(domain), None, known_name(spelt))
        assert key is not None
        return self.own.object(key), (domain, *parts)

    def of_domain(self, name: str) -> tuple[str, Identity]:
        domain = normal_domain(name)
        return self.own.object(f"{kind_of(domain)}/5"), ("domain", domain or "")

    def location(self, name: str) -> tuple[str, Identity]:
        url = name if len(name) % 2 else f"s3://{name}"
        key = object_key("location", None, None, location=url)
        assert key is not None
        return self.own.object(key), ("location", url)

    def elsewhere(self, name: str) -> tuple[str, Identity]:
        """A table of another account, whose organization has the first letter for a name; of the exported account where
        one of the two names is blank or cut, and therefore missing.
        """
        organization, own = name[:1], name[1:]
        account = account_of(Row("q", 0, "u", b"", organization_name=organization, account_name=own), ACCOUNT)
        is_missing = not organization.strip(" ") or not own.strip(" ") or own in {"TRUNCATED", "-1"}
        identity = ("own", "1") if is_missing else ("elsewhere", organization, own)
        return Iris(account, ACCOUNT, BASE).object("table/1"), identity


def test_different_names_never_share_an_iri() -> None:
    rng, things, seen = Random(12), Things(), dict[str, Identity]()
    pairs = 0
    while pairs < PAIRS:
        name, make = drawn(rng), rng.choice(things.makers)
        other = nearly(name, rng)
        if not other or other == name:
            continue
        (iri, identity), (other_iri, other_identity) = make(name), rng.choice((make, rng.choice(things.makers)))(other)
        if identity != other_identity:
            pairs += 1
            assert iri != other_iri, (name, other)
        for one, of in ((iri, identity), (other_iri, other_identity)):
            assert seen.setdefault(absolute_iri(one, BASE), of) == of, (one, of)
    assert len(seen) > PAIRS


def test_every_one_of_them_is_an_iri_that_no_reader_changes() -> None:
    rng, things = Random(7), Things()
    for _ in range(2_000):
        iri, _ = rng.choice(things.makers)(drawn(rng))
        assert iri.isascii()
        assert not set(iri) & set(' <>"{}|\\^`\0\n')
        assert not {".", ".."} & set(absolute_iri(iri, BASE).partition("://")[2].split("/")[1:])
