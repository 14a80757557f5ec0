"""Which spellings a statement needs to have named."""

from __future__ import annotations

from exporter.queries.facts import Access, Change, Content, Derivation, Join, PolicyReference, Thing, Write
from exporter.queries.spoken import spoken


def thing(key: str, name: str | None = "N", account: str | None = None) -> Thing:
    return Thing(key, key.partition("/")[0], name=name, account=account)


CONTENT = Content(
    accesses=(Access("DIRECT", thing("table/1", account="A")), Access("BASE", thing("function/2"))),
    writes=(Write(thing("table/3", None)), Write(thing("table/1", account="A"))),
    derivations=(
        Derivation("table/3", None, "C", "DIRECT", thing("table/4"), "D"),
        Derivation("table/3", None, "C", "DIRECT", thing("function/5"), None),
    ),
    policies=(PolicyReference(thing("view/6"), None, None, "masking-policy/9", "MASKING_POLICY", "9", "P", False),),
    joins=(Join("table/1", None, None, thing("table/7")),),
    changes=(
        Change("c", thing("table/8"), "ALTER", "NEW", "table/10", "S", "10", "TABLE", *[None] * 7),
        Change("d", thing("tag/11", None), "CREATE", *[None] * 12),
    ),
)


def test_what_is_told_as_a_dataset_or_by_name_is_spoken_of_once() -> None:
    assert spoken(CONTENT) == (
        ("table/1", "N", "A"),
        ("function/2", "N", None),
        ("table/3", None, None),
        ("table/4", "N", None),
        ("view/6", "N", None),
        ("table/1", None, None),
        ("table/7", "N", None),
        ("table/8", "N", None),
        ("table/8", "NEW", None),
        ("tag/11", None, None),
    )


def test_a_statement_that_says_nothing_speaks_of_nothing() -> None:
    assert spoken(Content()) == ()
