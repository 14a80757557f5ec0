"""Dense histories with shares (grants to them, revokes, and the accounts that they are open to), and with two views
that are created again over other tables.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from tests.ask import dense_histories as dense

if TYPE_CHECKING:
    from tests.ask.dense_histories import Warehouse

Json = dict[str, Any]
ON_ALL: Final = 0.2
SHARES: Final = tuple(
    {"objectDomain": "Share", "objectId": 90 + number, "objectName": f"SHARE_{number}"} for number in (1, 2)
)


def change(world: Warehouse, operation: str, properties: Json) -> None:
    share = world.rng.choice(SHARES)
    world.tell(object_modified_by_ddl={**share, "operationType": operation, "properties": properties})


def grant(world: Warehouse) -> None:
    thing, word = world.one("TTV"), world.rng.choice(("grant", "grant", "revoke"))
    securable = {"DOMAIN": dense.KINDS[thing.letter], "NAME": thing.name}
    said = {f"SECURABLE_OBJECT_{name}": told for name, told in securable.items()}
    if thing.number is not None:
        said["SECURABLE_OBJECT_ID"] = thing.number
    if world.rng.random() < ON_ALL:
        said = _of_all(securable["DOMAIN"], thing.name, world.rng.choice((1, 2)))
    privilege = "ALL" if word == "revoke" and world.rng.random() < ON_ALL else "SELECT"
    change(world, word.upper(), {word: {"value": {"PRIVILEGES": [privilege], **said}}})


def _of_all(domain: str, name: str, parts: int) -> Json:
    """All such objects of the database or the schema that is in a name."""
    scope = {
        "DOMAIN": domain,
        "SCOPE": ".".join(name.split(".")[:parts]),
        "SCOPE_DOMAIN": ("Database", "Schema")[parts - 1],
    }
    return {f"SECURABLE_OBJECT_{name}": told for name, told in scope.items()}


def accounts(world: Warehouse) -> None:
    word = world.rng.choice(("accountsToAdd", "accountsToAdd", "accountsToRemove"))
    change(world, "ALTER", {word: {"value": world.rng.sample(("NORTH", "SOUTH"), world.rng.randint(1, 2))}})


def drop(world: Warehouse) -> None:
    change(world, world.rng.choice(("DROP", "UNDROP", "CREATE")), {})


def history(seed: int, statements: int) -> tuple[list[Json], list[Json]]:
    """As :func:`tests.ask.dense_histories.history`."""
    world = dense.Warehouse.build(Random(f"shares {seed}"))
    world.things["V"].append(dense.Thing("V", 32, "DB.S.V2", over=1))
    of_views = (*(dense.select,) * 3, *(dense.insert,) * 3, *(dense.review,) * 3, dense.join)
    for _ in range(statements):
        world.rng.choice((*dense.STATEMENTS, *of_views, *(grant,) * 8, *(accounts,) * 4, drop))(world)
    world.rng.shuffle(world.rows)
    return world.rows, world.history
