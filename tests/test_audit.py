"""bin/audit distinguishes a clean result from a service without data, and compares licences exactly.

The answers are those that pip-audit 2.10 printed: from the Python index's service through a mirror without
vulnerabilities, from OSV without a network, and from a service that reported a vulnerability.
"""

from __future__ import annotations

import json
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests import audit
from tests.audit import COULD_NOT_ASK, DONE, FOUND, KNOWN_BAD, Answer

BAD = {"id": "PYSEC-2019-217", "fix_versions": ["99.1"], "aliases": ["CVE-2019-10906"], "description": "s"}
NO_NETWORK = (
    "Traceback (most recent call last):\nrequests.exceptions.ConnectionError: Failed to resolve 'osv.example'\n\n"
)


def answered(*entries: dict[str, Any], code: int = 0) -> CompletedProcess[str]:
    return CompletedProcess([], code, json.dumps({"dependencies": list(entries), "fixes": []}), "")


def package(name: str, *vulns: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": "2.4.1", "vulns": list(vulns)}


def skipped(name: str) -> dict[str, Any]:
    return {"name": name, "skip_reason": f"Dependency not found on PyPI and could not be audited: {name} (2.4.1)"}


def service(known_bad: CompletedProcess[str], others: CompletedProcess[str]) -> audit.Audit:
    return lambda _, requirements: known_bad if requirements == f"{KNOWN_BAD}\n" else others


GOOD = service(answered(package("jinja2", BAD), code=1), answered(package("six")))
CASES = {
    "clean": (GOOD, DONE),
    "found": (service(answered(package("jinja2", BAD)), answered(package("six", BAD), code=1)), FOUND),
    "every package skipped, exit 0": (service(answered(skipped("jinja2")), answered(skipped("six"))), COULD_NOT_ASK),
    "a service that knows nothing": (service(answered(package("jinja2")), answered(package("six"))), COULD_NOT_ASK),
    "no network": (service(*[CompletedProcess([], 1, "", NO_NETWORK)] * 2), COULD_NOT_ASK),
    "the network went away": (
        service(answered(package("jinja2", BAD)), CompletedProcess([], 1, "", "")),
        COULD_NOT_ASK,
    ),
    "one package skipped": (
        service(answered(package("jinja2", BAD)), answered(package("six"), skipped("own"))),
        COULD_NOT_ASK,
    ),
    "one skipped, another found": (
        service(answered(package("jinja2", BAD)), answered(package("six", BAD), skipped("own"))),
        FOUND,
    ),
}


@pytest.mark.parametrize(("asked", "code"), CASES.values(), ids=CASES)
def test_an_unreachable_service_is_never_a_clean_result(asked: audit.Audit, code: int) -> None:
    answer = audit.vulnerabilities(["six==2.4.1\n"], asked)
    assert audit.code([answer, Answer("licences")]) == code


def test_a_skipped_package_is_not_counted_among_the_asked() -> None:
    answer = audit.judged("pypi", [answered(package("six"), skipped("own"))])
    assert answer.said == "1 packages, asked of pypi; known vulnerabilities: none"
    assert answer.unasked == [f"own: {skipped('own')['skip_reason']}"]
    nothing = audit.vulnerabilities(["six==2.4.1\n"], CASES["every package skipped, exit 0"][0])
    assert nothing.said == "no service could be asked, so nothing is known"


def test_the_second_service_is_asked_if_the_first_has_no_data() -> None:
    silent, asked = CASES["a service that knows nothing"][0], []

    def either(name: str, requirements: str) -> CompletedProcess[str]:
        asked.append(name)
        return (silent if name == "pypi" else GOOD)(name, requirements)

    assert audit.vulnerabilities(["six==2.4.1\n"], either).unasked == []
    assert asked == ["pypi", "osv", "osv"]


def test_a_finding_names_the_package_and_the_fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    told = answered(package("six", BAD, {**BAD, "id": "PYSEC-1", "aliases": [], "fix_versions": []}))
    assert audit.judged("osv", [told]).found == [
        "six 2.4.1: PYSEC-2019-217, fixed in 99.1",
        "six 2.4.1: PYSEC-1, fixed in no version",
    ]
    monkeypatch.setattr(audit, "ACCEPTED", {"CVE-2019-10906": "the template engine is not used"})
    assert audit.judged("osv", [told]).found == ["six 2.4.1: PYSEC-1, fixed in no version"]


def test_every_pin_is_asked_about_whatever_its_python() -> None:
    lock = (
        "# made\nnumpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n    # via pandas\nnumpy==2.5.5\n"
    )
    assert audit.questions([lock, "six==1.17.0 \\\n", "six==1.17.0\n"]) == [
        "numpy==2.4.6\nsix==1.17.0\n",
        "numpy==2.5.5\n",
    ]


def test_the_lock_files_can_be_read_whole() -> None:
    for name in audit.LOCKS:
        text = (audit.ROOT / name).read_text(encoding="utf-8")
        assert len(audit.pins(text)) == sum("==" in line and not line.startswith(" ") for line in text.splitlines()) > 2


def component(*licences: dict[str, Any]) -> dict[str, Any]:
    return {"name": "a", "version": "1", "licenses": list(licences)}


def named(name: str) -> dict[str, Any]:
    return {"license": {"name": f"License :: OSI Approved :: {name}"}}


@pytest.mark.parametrize(
    ("of", "ids"),
    [
        (component({"license": {"id": "MIT"}}), {"MIT"}),
        (component({"license": {"id": "MPL-2.0"}}, named("Mozilla Public License 2.0 (MPL 2.0)")), {"MPL-2.0"}),
        (component(named("Apache Software License")), {"Apache-2.0"}),
        (component(named("Some Licence of Ours")), {"Some Licence of Ours"}),
        (
            component({"expression": "MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)"}),
            {"MPL-2.0", "Apache-2.0", "GPL-3.0-only"},
        ),
        (component({"license": {"name": "License :: OSI Approved"}}), set()),
        ({"name": "a", "version": "1"}, set()),
    ],
)
def test_licences_by_their_ids(of: dict[str, Any], ids: set[str]) -> None:
    assert audit.licence(of) == ids
    assert bool(audit.licences({"components": [of]}).found) == (not ids or not ids <= audit.ALLOWED)


def test_the_bill_has_what_is_pinned_and_nothing_else() -> None:
    lock = "zipp==4.1.2 ; python_full_version < '3.0'\nPy-YAML==6.0.3\nsix==1.17.0\n"
    names = [("pip", "23.0"), ("py_yaml", "6.0.3"), ("stray", "1")]
    bill = {"specVersion": "1.6", "components": [{"name": name, "version": of} for name, of in names]}
    assert audit.contents(bill, [lock]).found == [
        "stray 1 is installed and not pinned: remove .venv, and run bin/setup",
        "six 1.17.0 is pinned and not installed: run bin/setup",
    ]
