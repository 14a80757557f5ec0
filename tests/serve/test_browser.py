"""The pages in a real Chromium: from a search to the lineage of a column, by mouse and by keyboard, wide and narrow.

Skipped without Chromium (bin/setup --browser installs it), but never in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.hostile.payloads import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="there is no chromium: bin/setup --browser installs it"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "bin/setup --browser installs it, and .ci/run calls that"
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - where there is no browser, it is not needed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served(graph: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "exporter", "serve", str(graph), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="module")
def month(month_graph: Path) -> Iterator[str]:
    with served(month_graph) as address:
        yield address


@contextmanager
def opened(browser: Browser, width: int = 1200) -> Iterator[Page]:
    """A page on which nothing may go wrong: no script fails, and nothing is asked of anybody but the server."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda request: hosts.add(request.url.split("/")[2].split(":")[0]))
    yield page
    context.close()
    assert [one for one in wrong if "404" not in one] == []
    assert hosts <= {"127.0.0.1", ""}


def box(page: Page, key: str) -> Locator:
    return page.locator(f'#picture .box[data-key="{key}"]')


def test_from_a_search_to_the_lineage_of_a_column(browser: Browser, month: str) -> None:
    with opened(browser) as page:
        page.goto(month)
        page.get_by_role("searchbox").last.fill("crm.customers")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="RAW.CRM.CUSTOMERS").first.click()
        assert page.get_by_role("heading", level=1).inner_text().startswith("RAW.CRM.CUSTOMERS")
        page.get_by_role("link", name="Lineage as a picture").click()
        page.get_by_role("heading", name="Lineage of RAW.CRM.CUSTOMERS").wait_for()
        assert page.title().startswith("Lineage of RAW.CRM.CUSTOMERS")
        box(page, "table/2050").wait_for()
        box(page, "table/2040").get_by_role("link", name="Hide its targets").click()
        box(page, "table/2050").wait_for(state="detached")
        page.go_back()
        box(page, "table/2050").wait_for()
        box(page, "table/1029").get_by_role("link", name="5 columns").click()
        box(page, "table/1029").get_by_role("link", name="EMAIL").click()
        page.get_by_role("heading", name="Lineage of EMAIL of").first.wait_for()
        address = page.url
    with opened(browser) as page:  # a colleague's
        page.goto(address)
        page.get_by_role("heading", name="Lineage of EMAIL of").first.wait_for()
        page.get_by_label("As of the end of this day").fill("2026-09-09")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**day=2026-09-09**")
        page.get_by_role("heading", name="How data went").wait_for()
        last = page.get_by_role("region", name="How data went").locator("td:nth-child(5)").all_inner_texts()
        assert last
        assert all(text < "2026-09-10" for text in last)


def seen(page: Page) -> list[float]:
    """What is seen of the picture: left, top, width, height."""
    return [float(one) for one in (page.locator("#picture").get_attribute("viewBox") or "").split()]


def test_the_picture_is_moved_zoomed_and_searched(browser: Browser, month: str) -> None:
    with opened(browser) as page:
        page.goto(f"{month}lineage/?id=table/2050&steps=20")
        page.get_by_role("button", name="Larger").click()
        first = seen(page)
        page.get_by_role("button", name="Larger").click()
        assert seen(page)[2] < first[2]
        page.get_by_role("button", name="Smaller").click()
        page.mouse.move(700, 500)
        page.mouse.down()
        page.mouse.move(600, 450, steps=4)
        page.mouse.up()
        assert seen(page)[0] > first[0]
        assert page.url.endswith("steps=20"), "it was moved, not clicked"
        page.get_by_role("searchbox", name="Find in the picture").fill("fct_orders_b")
        assert page.locator("#picture .box.hit").count() == 1
        page.keyboard.press("Enter")
        left, top, width, height = seen(page)
        at = box(page, "table/2073").evaluate(
            "box => [box.transform.baseVal[0].matrix.e, box.transform.baseVal[0].matrix.f]"
        )
        assert left < at[0] < left + width
        assert top < at[1] < top + height
        page.get_by_role("button", name="Fit").click()
        assert seen(page)[2] >= first[2]


def test_a_line_opens_its_queries_and_the_slider_sets_the_day(browser: Browser, month: str) -> None:
    with opened(browser) as page:
        page.goto(f"{month}lineage/?id=table/2050")
        page.locator('#picture .edge[data-from="table/2041|"] a').click()
        page.get_by_role("heading", name="From STAGING.DBT.STG_ORDERS to MART.SALES.FCT_ORDERS").wait_for()
        assert page.locator("#moves tbody tr").count() == 22
        page.get_by_role("slider").focus()
        page.keyboard.press("Home")
        page.wait_for_url("**day=2026-09-01**")


def test_the_picture_as_png(browser: Browser, month: str) -> None:
    with opened(browser) as page:
        page.goto(f"{month}lineage/?id=table/2050")
        with page.expect_download() as download:
            page.get_by_role("button", name="PNG").click()
        assert download.value.path().read_bytes().startswith(b"\x89PNG")
        assert download.value.path().stat().st_size > 5_000


def test_without_scripts_the_picture_and_its_steps_are_there(browser: Browser, month: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{month}lineage/?id=table/2040")
    assert box(page, "table/2050").is_visible()
    assert page.locator("#tools").is_hidden()
    box(page, "table/2050").get_by_role("link", name="Show its targets").click()
    box(page, "table/2073").wait_for()
    context.close()


def test_by_keyboard_alone(browser: Browser, month: str) -> None:
    with opened(browser) as page:
        page.goto(f"{month}object?name=RAW.CRM.CUSTOMERS")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.innerText") == "Lineage as a picture"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        label = "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
        page.get_by_role("link", name="Hide its targets").first.wait_for()
        for _ in range(120):
            page.keyboard.press("Tab")
            if (page.evaluate(label) or "").startswith("Hide its targets"):
                break
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Show its targets").first.wait_for()


@pytest.mark.parametrize("path", ["", "search?q=customer", "object?name=MART.SALES.DIM_CUSTOMER", "ask/writers",
                                  "lineage/?id=table/1029", "write", "questions"])  # fmt: skip
def test_a_phone_needs_no_scrolling_sideways(browser: Browser, month: str, path: str) -> None:
    with opened(browser, 360) as page:
        page.goto(month + path, wait_until="networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_names_that_are_made_to_break_out_do_nothing(browser: Browser, hostile_graph: Path) -> None:
    with served(hostile_graph) as address, opened(browser) as page:
        for payload in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>"):
            assert payload in PAYLOADS
            page.goto(f"{address}search?q={quote(payload)}")
            assert page.locator("main img, main script").count() == 0
            links = page.get_by_role("region", name="Objects").get_by_role("link")
            if links.count():
                links.first.click()
                page.get_by_role("link", name="Lineage as a picture").click()
                page.get_by_role("heading", level=1).wait_for()
                page.locator("#picture .box").first.wait_for()
                assert page.locator("main img").count() == 0
