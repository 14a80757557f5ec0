"""Nodes of where queries ran: accounts, and the organizations that accounts belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rdf.iri import account_path, known, organization_of, organization_path
from exporter.sql import aggregates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

_ORGANIZATION = f"coalesce(organization_name, {organization_of()})"


def owner(name: str, account: str = "account") -> str:
    """The account of an object that rows of ``account`` name by its name alone: one of the same organization. Null
    where the organization is not known.
    """
    return f"concat({organization_of(account)}, '-', {name})"


def accounts(facts: Facts) -> DataFrame:
    """One node per account: those that the rows are from, and those that they say objects belong to."""
    of_rows = facts.queries.selectExpr("account", f"{_ORGANIZATION} AS organization", "account_locator")
    named = facts.objects.selectExpr("account AS reader", "explode(object_accounts) AS owner_name").selectExpr(
        f"{owner('owner_name', 'reader')} AS account",
        f"{organization_of('reader')} AS organization",
        "cast(null as string) AS account_locator",
    )
    begin = "concat(organization, '-')"
    each = of_rows.unionByName(named).selectExpr(
        *("account", "account_locator"),
        f"{account_path()} AS path",
        f"{known('organization', organization_path('organization'))} AS organization_ref",
        f"CASE WHEN startswith(account, {begin}) THEN substr(account, length({begin}) + 1) END AS account_name",
    )
    lists = {
        "account_names": "array_sort(collect_set(account_name))",
        "account_locators": "array_sort(collect_set(account_locator))",
        "organization_refs": "array_sort(collect_set(organization_ref))",
    }
    return each.filter("path IS NOT NULL").groupBy("account", "path").agg(*aggregates(**lists))


def organizations(facts: Facts) -> DataFrame:
    """One node per organization: those that rows name, and those in the names of their accounts."""
    each = f"explode(array_compact(array_distinct(array(organization_name, {organization_of()})))) AS account"
    named = facts.queries.selectExpr(each).distinct()
    return named.selectExpr("account", "account AS organization_name", f"{organization_path('account')} AS path")
