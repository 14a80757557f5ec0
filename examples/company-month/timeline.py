"""The month: what happened once, day by day (September 2026; the 1st is a Tuesday)."""

from __future__ import annotations

from admin import (
    build_new_dimension,
    clone,
    discounts,
    first_rates,
    old_visits,
    rename_discounts,
    rename_score,
    swap_dimensions,
)
from company import (
    AUDIENCE,
    COPY,
    CUSTOMERS,
    DIMENSION,
    EMAIL_MASK,
    FACT,
    NEW_DIMENSION,
    OWNER,
    PHONE_MASK,
    RATES,
    REGION_FILTER,
    SEQUENCE,
    UPLOADS,
)
from governance import (
    EMAIL_BODIES,
    Statement,
    allowed,
    altered,
    drop_phone_mask,
    filter_rows,
    mask_column,
    mask_on_tag,
    policy_body,
    tag_column,
)
from people import (
    churn_features,
    close_month,
    copy_emails,
    create_audience,
    delete,
    make_audience,
    reads,
    transfer,
    unload_twice,
    upload_rates,
)
from rhythm import FIRST, Event
from statements import set_or_unset

REGION_BODIES = ("current_role() <> 'FINANCE' or region <> 'TEST'", "region <> 'TEST'")
ALL_PHONES = "case when current_role() in ('SUPPORT', 'STEWARD') then val else null end"
CONTACT_COLUMNS = "CUSTOMER_ID FULL_NAME EMAIL"


def on(day: int, time: str, statement: Statement) -> Event:
    hour, minute = time.split(":")
    return FIRST.replace(
        day=day, hour=int(hour), minute=int(minute), second=2, microsecond=(day * 37 % 1000) * 1000
    ), statement


def first_week() -> list[Event]:
    """Tags, masks on a column and on a tag, the first loads, a month's close."""
    owner = {"tags": set_or_unset(OWNER, "ADD", "crm-team")}
    comment = {"comment": {"value": "One row per order; revenue in EUR.\nOwner: sales analytics"}}
    sequence = {"start": {"value": "1000"}, "increment": {"value": "1"}, "comment": {"value": "Invoice numbers"}}
    return [
        on(1, "2:40", old_visits),
        on(1, "9:00", allowed("CREATE", sensitive="ADD", internal="ADD", public="ADD")),
        on(1, "9:02", altered("PRIYA_STEWARD", OWNER, "CREATE", {}, f"create tag {OWNER}")),
        on(1, "9:30", altered("OLGA_DBA", FACT, "ALTER", comment, f"comment on table {FACT} is '...'")),
        on(
            1, "10:00", altered("OLGA_DBA", SEQUENCE, "CREATE", sequence, f"create sequence {SEQUENCE}", "Sequence", 77)
        ),
        on(1, "11:00", discounts),
        on(2, "6:00", first_rates),
        on(2, "10:00", tag_column("OLGA_DBA", "EMAIL", "internal")),
        on(
            2,
            "10:01",
            altered("OLGA_DBA", CUSTOMERS, "ALTER", owner, f"alter table {CUSTOMERS} set tag {OWNER} = 'crm-team'"),
        ),
        on(3, "9:00", policy_body(EMAIL_MASK, "CREATE", EMAIL_BODIES[0])),
        on(3, "9:05", mask_column(DIMENSION, "EMAIL", EMAIL_MASK)),
        on(3, "9:10", policy_body(PHONE_MASK, "CREATE", ALL_PHONES)),
        on(3, "9:12", mask_column(DIMENSION, "PHONE", PHONE_MASK)),
        on(3, "11:00", close_month),
        on(4, "9:00", mask_on_tag),
        on(4, "9:05", tag_column("PRIYA_STEWARD", "EMAIL", "sensitive")),
        on(4, "14:00", reads("TOM_ANALYST", MART__FINANCE__DISCOUNTS="SKU DISCOUNT")),
    ]


def second_week() -> list[Event]:
    """Rows are filtered, a policy is tightened, and the day before it was, somebody made a copy."""
    values = {"restricted": "ADD", "public": "DROP"}
    return [
        on(7, "9:00", policy_body(REGION_FILTER, "CREATE", REGION_BODIES[0])),
        on(7, "9:03", filter_rows),
        on(8, "15:00", clone("JONAS_SCIENTIST", RATES, "SANDBOX.JONAS.FX_SNAPSHOT")),
        on(9, "16:20", copy_emails),
        on(9, "16:40", reads("MARIA_ANALYST", SANDBOX__MARIA__CUSTOMER_EMAILS="CUSTOMER_ID EMAIL")),
        on(10, "9:00", policy_body(EMAIL_MASK, "ALTER", EMAIL_BODIES[1])),
        on(10, "9:20", allowed("ALTER", **values)),
        on(10, "11:00", rename_discounts),
        on(11, "13:30", create_audience),
        on(11, "14:00", make_audience),
        on(11, "15:00", unload_twice),
        on(11, "16:00", reads("MARIA_ANALYST", MART__MARKETING__CAMPAIGN_AUDIENCE="EMAIL SCORE")),
    ]


def third_week() -> list[Event]:
    """Wrong exchange rates by way of a laptop; a tag that is gone for a day; readers of the copy."""
    laptop = "file:///Users/tom/Desktop/fx_fixed.csv"
    put = f"put {laptop} @{UPLOADS}"
    return [
        on(14, "8:40", transfer("TOM_ANALYST", "PUT_FILES", laptop, UPLOADS, put)),
        on(14, "8:45", upload_rates),
        on(14, "11:00", reads("JONAS_SCIENTIST", SANDBOX__MARIA__CUSTOMER_EMAILS="CUSTOMER_ID EMAIL")),
        on(15, "9:00", close_month),
        on(16, "9:30", rename_score),
        on(16, "10:00", reads("BI_SERVICE", MART__MARKETING__CAMPAIGN_AUDIENCE="EMAIL LOYALTY")),
        on(16, "11:10", reads("JONAS_SCIENTIST", SANDBOX__MARIA__CUSTOMER_EMAILS="EMAIL")),
        on(16, "14:00", churn_features),
        on(16, "15:00", reads("LENA_SUPPORT", MART__MARKETING__V_CUSTOMER_CONTACTS=CONTACT_COLUMNS)),
        on(17, "9:00", tag_column("OLGA_DBA", "EMAIL", None)),
        on(17, "11:15", reads("TOM_ANALYST", MART__FINANCE__REVENUE_BY_REGION="MONTH REGION REVENUE_EUR")),
        on(17, "13:30", reads("JONAS_SCIENTIST", RAW__CRM__CUSTOMERS="CUSTOMER_ID EMAIL REGION")),
        on(18, "9:15", tag_column("PRIYA_STEWARD", "EMAIL", "sensitive")),
        on(18, "10:00", delete("OLGA_DBA", RATES, ("RATE_DATE",), "rate_date >= '2026-09-01'")),
        on(18, "10:10", first_rates),
        on(18, "13:30", reads("JONAS_SCIENTIST", RAW__CRM__CUSTOMERS="CUSTOMER_ID EMAIL REGION")),
        on(19, "10:00", clone("OLGA_DBA", FACT, "SANDBOX.OLGA.FCT_ORDERS_BACKUP")),
        on(19, "10:30", build_new_dimension),
        on(19, "10:40", mask_column(NEW_DIMENSION, "EMAIL", EMAIL_MASK)),
        on(19, "10:41", mask_column(NEW_DIMENSION, "PHONE", PHONE_MASK)),
        on(19, "11:00", swap_dimensions),
    ]


def last_weeks() -> list[Event]:
    """The copy is found, masked and dropped; a share is made; a table is dropped by mistake and brought back."""
    customer = ("CUSTOMER_ID",)
    target = "file:///home/lena/tickets/"
    get = f"get @{UPLOADS} {target}"
    return [
        on(21, "9:00", policy_body(EMAIL_MASK, "ALTER", EMAIL_BODIES[2])),
        on(22, "10:00", reads("PRIYA_STEWARD", SANDBOX__MARIA__CUSTOMER_EMAILS="CUSTOMER_ID EMAIL")),
        on(22, "15:00", transfer("LENA_SUPPORT", "GET_FILES", UPLOADS, target, get)),
        on(23, "9:00", mask_column(COPY, "EMAIL", EMAIL_MASK)),
        on(23, "11:00", reads("JONAS_SCIENTIST", SANDBOX__MARIA__CUSTOMER_EMAILS="EMAIL")),
        on(24, "9:00", policy_body(REGION_FILTER, "ALTER", REGION_BODIES[1])),
        *share(),
        on(25, "16:00", altered("OLGA_DBA", AUDIENCE, "DROP", {}, f"drop table {AUDIENCE}")),
        on(25, "16:04", altered("OLGA_DBA", AUDIENCE, "UNDROP", {}, f"undrop table {AUDIENCE}")),
        on(25, "16:30", reads("BI_SERVICE", MART__MARKETING__CAMPAIGN_AUDIENCE="EMAIL LOYALTY")),
        on(28, "10:00", altered("OLGA_DBA", COPY, "DROP", {}, f"drop table {COPY}")),
        on(28, "10:05", altered("OLGA_DBA", NEW_DIMENSION, "DROP", {}, f"drop table {NEW_DIMENSION}")),
        on(29, "9:00", delete("PRIYA_STEWARD", CUSTOMERS, customer, "customer_id = 40017")),
        on(29, "9:02", delete("PRIYA_STEWARD", DIMENSION, customer, "customer_id = 40017")),
        on(29, "9:10", mask_column(DIMENSION, "PHONE", PHONE_MASK, "DROP")),
        on(29, "9:12", drop_phone_mask),
        on(30, "18:00", close_month),
    ]


def share() -> list[Event]:
    """The share with the suppliers and its listing."""
    user, name, listing = "PRIYA_STEWARD", "ACME_SUPPLIERS", "ACME_SUPPLIER_SALES"
    view = {"SECURABLE_OBJECT_DOMAIN": "View", "SECURABLE_OBJECT_ID": 3062}
    view |= {"SECURABLE_OBJECT_NAME": "MART.SALES.V_SUPPLIER_SALES"}
    granted = {"grant": {"value": {"PRIVILEGES": ["SELECT"], **view}}}
    accounts = {"accountsToAdd": {"value": ["SUPPLIER_NORD", "SUPPLIER_SUED"]}, "shareRestrictions": {"value": False}}
    made = {"manifest": {"value": "title: Supplier sales\nterms: offline"}, "share": {"value": name}}
    return [
        on(
            24,
            "10:00",
            altered(user, name, "CREATE", {"secureObjectsOnly": {"value": True}}, f"create share {name}", "Share", 801),
        ),
        on(
            24,
            "10:01",
            altered(user, name, "GRANT", granted, f"grant select on view ... to share {name}", "Share", 801),
        ),
        on(24, "10:02", altered(user, name, "ALTER", accounts, f"alter share {name} add accounts = ...", "Share", 801)),
        on(
            24,
            "10:10",
            altered(user, listing, "CREATE", made, f"create external listing {listing} ...", "Listing", 802),
        ),
    ]
