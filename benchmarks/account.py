"""A synthetic account for the generator: tables, views, stages, functions, policies and tags, all from one seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

Json = dict[str, Any]

SUBJECTS: Final = (
    "ORDERS",
    "CUSTOMERS",
    "PAYMENTS",
    "SHIPMENTS",
    "PRODUCTS",
    "SESSIONS",
    "INVOICES",
    "TICKETS",
    "STOCK",
)
COLUMNS: Final = (
    "ID",
    "CUSTOMER_ID",
    "ORDER_ID",
    "CREATED_AT",
    "UPDATED_AT",
    "STATUS",
    "AMOUNT",
    "CURRENCY",
    "COUNTRY",
    "REGION",
    "CITY",
    "EMAIL",
    "PHONE",
    "FULL_NAME",
    "SKU",
    "QUANTITY",
    "PRICE",
    "DISCOUNT",
    "TAX",
    "CHANNEL",
    "SOURCE_FILE",
    "LOADED_AT",
    "IS_ACTIVE",
    "VALID_FROM",
    "VALID_TO",
    "SEGMENT",
    "SCORE",
    "COMMENT",
    "WAREHOUSE_ID",
    "CARRIER",
    "SESSION_ID",
    "PAGE_URL",
    "REFERRER",
    "DEVICE",
    "BROWSER",
    "LATITUDE",
    "LONGITUDE",
    "BIRTH_DATE",
    "IBAN",
    "MARGIN",
)
SENSITIVE: Final = ("EMAIL", "PHONE", "FULL_NAME", "BIRTH_DATE", "IBAN")
LAYERS: Final = ("RAW", "STAGING", "MART")


@dataclass(eq=False)
class Relation:
    """A table or view; ``shapes``: the jobs whose text has its name, which is made again when the name changes."""

    domain: str
    object_id: int
    name: str
    columns: tuple[str, ...]
    first_column_id: int
    bases: list[Relation] = field(default_factory=list)
    masked: bool = False
    filtered: bool = False
    shapes: list[Any] = field(default_factory=list)

    def column_id(self, column: str) -> int:
        return self.first_column_id + self.columns.index(column)

    def identity(self) -> Json:
        return {"objectDomain": self.domain, "objectId": self.object_id, "objectName": self.name}

    def read(self, columns: tuple[str, ...]) -> Json:
        shown = [{"columnId": self.column_id(column), "columnName": column} for column in columns]
        return {"columns": shown, **self.identity()}

    def tables(self) -> list[Relation]:
        """The tables below: itself, if it is one."""
        return self.bases or [self]


def stage(number: int) -> Json:
    kind = "Internal Named" if number % 4 == 0 else "External Named"
    identity = {"objectDomain": "Stage", "objectId": 900_000 + number, "objectName": f"RAW.STAGES.STAGE_{number}"}
    return {**identity, "stageKind": kind}


def function(number: int) -> Json:
    identity = {
        "objectDomain": "FUNCTION",
        "objectName": f"GOVERNANCE.UDFS.F_{number}",
        "objectId": str(800_000 + number),
    }
    return {**identity, "argumentSignature": "(A NUMBER, B VARCHAR)", "dataType": "NUMBER(38,0)"}


def procedure(number: int) -> Json:
    name = f"OPS.PROCEDURES.P_{number}"
    return {"objectDomain": "PROCEDURE", "objectName": name, "argumentSignature": "(DAY DATE)", "dataType": "VARCHAR"}


def policy(kind: str, number: int) -> Json:
    short = "MASK" if kind == "MASKING_POLICY" else "FILTER"
    identity = {"policyName": f"GOVERNANCE.POLICIES.{short}_{number}", "policyId": 700_000 + number}
    return {**identity, "policyKind": kind}


@dataclass
class Account:
    """Relations, and the numbers of other objects. ``hot``: the table that nearly every statement reads, or None."""

    tables: list[Relation]
    views: list[Relation]
    stages: int
    functions: int
    procedures: int
    users: tuple[str, ...]
    hot: Relation | None = None

    @classmethod
    def build(cls, rng: Random, tables: int, users: int, *, has_hot: bool = False) -> Account:
        made = [_table(rng, number) for number in range(tables)]
        hot = _typical(made) if has_hot else None
        views = [_view(rng, number, made, hot) for number in range(max(1, tables // 3))]
        names = tuple(f"{'SVC' if number % 5 == 0 else 'USER'}_{number:04d}" for number in range(users))
        functions = max(2, tables // 40)
        return cls(made, views, max(2, tables // 25), functions, functions, names, hot)

    def others(self) -> list[Relation]:
        """The tables except the hot one."""
        return [table for table in self.tables if table is not self.hot] if self.hot else self.tables


def _table(rng: Random, number: int) -> Relation:
    layer, subject = rng.choice(LAYERS), rng.choice(SUBJECTS)
    name = f'{layer}_{number // 200}.{subject}."{subject.title()} {number}"' if number % 50 == 7 else ""
    name = name or f"{layer}_{number // 200}.{subject}.{subject}_{number}"
    columns = tuple(rng.sample(COLUMNS, min(len(COLUMNS), 4 + int(rng.expovariate(0.12)))))
    domain = "External table" if number % 40 == 3 else "Dynamic table" if number % 40 == 9 else "Table"
    made = Relation(domain, 1_000 + 2 * number, name, columns, 1_000_000 + 100 * number)
    made.masked, made.filtered = rng.random() < 0.15, rng.random() < 0.05
    return made


def _typical(tables: list[Relation]) -> Relation:
    """A table with a usual number of columns."""
    mean = sum(len(table.columns) for table in tables) / len(tables)
    plain = [table for table in tables if not (table.masked or table.filtered)] or tables
    return min(plain, key=lambda table: abs(len(table.columns) - mean))


def _view(rng: Random, number: int, tables: list[Relation], hot: Relation | None) -> Relation:
    bases = rng.sample(tables, min(len(tables), rng.choice((1, 1, 1, 2, 3))))
    bases = [hot, *(table for table in bases[1:] if table is not hot)] if hot else bases
    columns = tuple(dict.fromkeys(column for table in bases for column in table.columns[:10]))
    name = f"MART_{number // 200}.REPORTING.V_{number}"
    return Relation("View", 500_000 + number, name, columns, 60_000_000 + 100 * number, bases)
