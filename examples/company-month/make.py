r"""Write the example: ``python examples/company-month/make.py`` makes the same two files each time.

``access_history.ndjson`` holds the rows as COPY INTO ... JSON unloads them, ``query_history.csv`` the columns of
QUERY_HISTORY that are worth joining, as COPY INTO ... CSV unloads them (NULL is ``\N``). A folder may be given.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import timedelta
from pathlib import Path

from rhythm import FIRST, month
from statements import Account
from timeline import first_week, last_weeks, second_week, third_week

NOT_RECORDED = (
    (4, "TOM_ANALYST", "SELECT", "select revenue from MART.SALES.FCT_ORDERS", "FAIL"),
    (10, "MARIA_ANALYST", "SELECT", "select email, phone from RAW.CRM.CUSTOMERS", "FAIL"),
    (17, "OLGA_DBA", "SHOW", "show tables in database SANDBOX", "SUCCESS"),
    (22, "PRIYA_STEWARD", "SELECT", "select * from table(result_scan(last_query_id()))", "SUCCESS"),
    (25, "OLGA_DBA", "USE", "use role SYSADMIN", "SUCCESS"),
)
"""Queries that QUERY_HISTORY lists and ACCESS_HISTORY does not: failed ones, and ones that touch no object."""


def the_month() -> Account:
    """The account after all statements, run in the order of their times."""
    account = Account()
    once = [*first_week(), *second_week(), *third_week(), *last_weeks()]
    for at, statement in sorted([*month(), *once], key=lambda event: event[0]):
        statement(account, at)
    for day, user, kind, sql, status in NOT_RECORDED:
        at = FIRST.replace(day=day) + timedelta(hours=12, minutes=7)
        account.log(at, user, kind, sql, seconds=0.2, execution_status=status)
    return account


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    account = the_month()
    with (folder / "access_history.ndjson").open("w", encoding="utf-8", newline="\n") as rows:
        rows.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in account.rows)
    delivered = sorted(account.queries, key=lambda query: str(query["start_time"]))
    delivered += [delivered[40], delivered[200]]  # the view holds duplicates now and then
    with (folder / "query_history.csv").open("w", encoding="utf-8", newline="") as queries:
        writer = csv.writer(queries, lineterminator="\n")
        writer.writerow([name.upper() for name in delivered[0]])
        writer.writerows(["\\N" if value is None else value for value in query.values()] for query in delivered)
    print(f"{len(account.rows)} rows, {len(delivered)} queries")


if __name__ == "__main__":
    main()
